/** Tags of TIFF 6.0, its supplements, GeoTIFF, GDAL, MetaMorph, Zeiss and NIH Image. */
export const TAG = {
  newSubfileType: 254,
  subfileType: 255,
  width: 256,
  height: 257,
  bitsPerSample: 258,
  compression: 259,
  photometric: 262,
  fillOrder: 266,
  description: 270,
  stripOffsets: 273,
  samplesPerPixel: 277,
  rowsPerStrip: 278,
  stripByteCounts: 279,
  planarConfiguration: 284,
  predictor: 317,
  tileWidth: 322,
  tileHeight: 323,
  tileOffsets: 324,
  tileByteCounts: 325,
  subDirectories: 330,
  sampleFormat: 339,
  jpegTables: 347,
  ycbcrSubsampling: 530,
  imageDepth: 32997,
  tileDepth: 32998,
  uic2: 33629,
  modelPixelScale: 33550,
  modelTiepoint: 33922,
  modelTransformation: 34264,
  geoKeyDirectory: 34735,
  geoDoubleParams: 34736,
  lsmInfo: 34412,
  geoAsciiParams: 34737,
  gdalNoData: 42113,
  nihImageHeader: 43314,
} as const;

/** The code of a tag. */
export type TagCode = typeof TAG[keyof typeof TAG];

/** The tags that are read; all others are ignored. */
export const WANTED_TAGS: ReadonlySet<number> = /* @__PURE__ */ new Set(
  /* @__PURE__ */ Object.values(TAG),
);
