/**
 * The place of a picture on the earth, from the tags of GeoTIFF to the attributes of GeoZarr,
 * and the attributes of a group whose arrays are the levels of a pyramid.
 *
 * Sources: OGC GeoTIFF 1.1, https://docs.ogc.org/is/19-008r4/19-008r4.html;
 * https://github.com/zarr-conventions/spatial; https://github.com/zarr-conventions/proj;
 * https://github.com/zarr-conventions/multiscales; OME-Zarr 0.5,
 * https://ngff.openmicroscopy.org/0.5/
 */
import { sentence } from "../errors/mod.ts";
import type { TiffPlace } from "./describe_tiff.ts";

/**
 * The numbers [a, b, c, d, e, f] that map places in a picture to coordinates:
 * x = a·column + b·row + c, y = d·column + e·row + f.
 */
export type Affine = readonly [number, number, number, number, number, number];

/** The place of an array on the earth. */
export interface GeoPlace {
  /** Maps places in the array to coordinates; the corner of the first pixel is (0, 0). Missing if the tags have no such numbers. */
  readonly transform?: Affine;
  /** Whether the elements are values at points, as opposed to those of areas. */
  readonly isPoint: boolean;
  /** The coordinate reference system, such as `EPSG:32632`, if it has a code. */
  readonly code?: string;
  /** The tags that `transform` and `code` do not cover. */
  readonly tags?: TiffPlace;
  /** Notes for the report on tags that `transform` and `code` do not cover. */
  readonly notes: readonly string[];
}

/** The keys of GeoTIFF that are read and written. */
export const GEO_KEY = {
  modelType: 1024,
  rasterType: 1025,
  geodeticCrs: 2048,
  projectedCrs: 3072,
  verticalCrs: 4096,
} as const;
const [PROJECTED, PIXEL_IS_POINT] = [1, 2];
/** The codes of EPSG lie between these; 32767 stands for a system that the user defines. */
const [LEAST_CODE, MOST_CODE] = [1024, 32766];

/** Reads the place of a picture; `undefined` if it has no tags of GeoTIFF. */
export function geoPlaceOf(place: TiffPlace): GeoPlace | undefined {
  const { geoKeyDirectory, geoDoubleParams, geoAsciiParams } = place;
  const { modelTiepoint = [] } = place;
  const keys = shortKeysOf(place);
  const isPoint = keys.get(GEO_KEY.rasterType) === PIXEL_IS_POINT;
  const transform = transformOf(place, isPoint);
  const code = codeOf(keys);
  const isUnknown = code === undefined &&
    (keys.has(GEO_KEY.geodeticCrs) || keys.has(GEO_KEY.projectedCrs));
  const isVertical = keys.has(GEO_KEY.verticalCrs);
  const points = modelTiepoint.length / 6;
  const hasPoints = transform === undefined && points > 1;
  const hasTags = isUnknown || isVertical || hasPoints;
  if (transform === undefined && code === undefined && !hasTags) {
    return undefined;
  }
  const hasKeys = isUnknown || isVertical;
  return {
    ...transform && { transform },
    isPoint,
    ...code !== undefined && { code },
    ...hasTags && {
      tags: {
        ...hasPoints && { modelTiepoint },
        ...hasKeys && geoKeyDirectory && { geoKeyDirectory },
        ...hasKeys && geoDoubleParams && { geoDoubleParams },
        ...hasKeys && geoAsciiParams !== undefined && { geoAsciiParams },
      },
    },
    notes: [
      isUnknown &&
      "The coordinate reference system has no code of EPSG: the place is kept without it, and the attribute geotiff has its GeoKeys",
      isVertical &&
      "The attribute geotiff has the GeoKeys of the vertical coordinate reference system, which proj:code does not include",
      hasPoints &&
      `The attribute geotiff has ${points} ground control points, which spatial:transform cannot represent`,
    ].filter((note) => note !== false),
  };
}

/** The keys whose values are in the directory itself. */
function shortKeysOf(
  { geoKeyDirectory = [] }: TiffPlace,
): ReadonlyMap<number, number> {
  const keys = new Map<number, number>();
  const count = geoKeyDirectory[3] ?? 0;
  for (let i = 1; i <= count && 4 * i + 3 < geoKeyDirectory.length; i++) {
    const [key, tag, , value] = geoKeyDirectory.slice(4 * i, 4 * i + 4);
    if (tag === 0) keys.set(key!, value!);
  }
  return keys;
}

function codeOf(keys: ReadonlyMap<number, number>): string | undefined {
  const isProjected = keys.get(GEO_KEY.modelType) === PROJECTED ||
    !keys.has(GEO_KEY.modelType) && keys.has(GEO_KEY.projectedCrs);
  const code =
    keys.get(isProjected ? GEO_KEY.projectedCrs : GEO_KEY.geodeticCrs) ?? 0;
  return code >= LEAST_CODE && code <= MOST_CODE ? `EPSG:${code}` : undefined;
}

function transformOf(
  { modelPixelScale, modelTiepoint, modelTransformation }: TiffPlace,
  isPoint: boolean,
): Affine | undefined {
  let transform: Affine | undefined;
  const [scaleX = 0, scaleY = 0] = modelPixelScale ?? [];
  if (scaleX !== 0 && scaleY !== 0 && (modelTiepoint?.length ?? 0) >= 6) {
    const [column, row, , x, y] = modelTiepoint!;
    // Rows go from the top downwards whatever the sign, as in other programs.
    const height = Math.abs(scaleY);
    transform = [
      ...[scaleX, 0, x! - column! * scaleX] as const,
      ...[0, -height, y! + row! * height] as const,
    ];
  } else if ((modelTransformation?.length ?? 0) >= 16) {
    const [a, b, , c, d, e, , f] = modelTransformation!;
    transform = [a!, b!, c!, d!, e!, f!];
  }
  if (transform === undefined || !transform.every(Number.isFinite)) {
    return undefined;
  }
  const [a, b, , d, e] = transform;
  if (a * e - b * d === 0) return undefined;
  return isPoint ? moved(transform, -0.5, -0.5) : transform;
}

/** Moves the corner of a picture by columns and rows. */
export function moved(
  [a, b, c, d, e, f]: Affine,
  columns: number,
  rows: number,
): Affine {
  return [
    ...[a, b, c + a * columns + b * rows] as const,
    ...[d, e, f + d * columns + e * rows] as const,
  ];
}

/** The part of a pixel by which the places of files may differ from those in their array. */
const TOLERANCE = 0.01;

/** A file in a mosaic. */
interface GeoFile {
  readonly key: string;
  readonly place: TiffPlace | undefined;
  /** The place of the file's first pixel in the array, and the size of the file. */
  readonly row: number;
  readonly column: number;
  readonly height: number;
  readonly width: number;
}

/**
 * Finds the place of an array of files.
 *
 * @returns The place, and notes; no place if the files have none, or if their places do
 * not fit together.
 */
export function geoPlaceOfFiles(
  files: readonly GeoFile[],
): { place?: GeoPlace; notes: readonly string[] } {
  const [first, ...others] = files.map((file) => ({
    ...file,
    place: file.place && geoPlaceOf(file.place),
  }));
  if (first?.place === undefined) return { notes: [] };
  const { transform: corner, ...system } = first.place;
  const transform = corner && moved(corner, -first.column, -first.row);
  for (const { key, place, row, column, width, height } of others) {
    const isSameSystem = place?.code === system.code &&
      place?.isPoint === system.isPoint &&
      JSON.stringify(place?.tags) === JSON.stringify(system.tags);
    const expected = transform && moved(transform, column, row);
    const isThere = isSameSystem &&
      isSameTransform(expected, place?.transform, width, height);
    if (isThere) continue;
    return {
      notes: [
        sentence`File ${first.key} and File ${key} have places on the earth that do not fit their places in the array: the array has none`,
      ],
    };
  }
  const { notes } = system;
  return { place: { ...system, ...transform && { transform } }, notes };
}

/** Whether two transforms give the corners of a picture the same coordinates, up to a part of a pixel. */
function isSameTransform(
  a: Affine | undefined,
  b: Affine | undefined,
  width: number,
  height: number,
): boolean {
  if (a === undefined || b === undefined) return a === b;
  const tolerance = TOLERANCE * Math.min(
    Math.hypot(a[0], a[3]),
    Math.hypot(a[1], a[4]),
  );
  return [[0, 0], [width, 0], [0, height]].every(([columns, rows]) => {
    const [one, other] = [a, b].map((of) => moved(of, columns!, rows!));
    return Math.hypot(one![2] - other![2], one![5] - other![5]) <= tolerance;
  });
}

/** The entries of `zarr_conventions`. */
const CONVENTIONS = {
  multiscales: {
    schema_url:
      "https://raw.githubusercontent.com/zarr-conventions/multiscales/refs/tags/v1/schema.json",
    spec_url:
      "https://github.com/zarr-conventions/multiscales/blob/v1/README.md",
    uuid: "d35379db-88df-4056-af3a-620245f8e347",
    name: "multiscales",
    description: "Multiscale layout of zarr datasets",
  },
  proj: {
    schema_url:
      "https://raw.githubusercontent.com/zarr-conventions/geo-proj/refs/tags/v1/schema.json",
    spec_url: "https://github.com/zarr-conventions/geo-proj/blob/v1/README.md",
    uuid: "f17cb550-5864-4468-aeb7-f3180cfb622f",
    name: "proj:",
    description: "Coordinate reference system information for geospatial data",
  },
  spatial: {
    schema_url:
      "https://raw.githubusercontent.com/zarr-conventions/spatial/refs/tags/v1/schema.json",
    spec_url: "https://github.com/zarr-conventions/spatial/blob/v1/README.md",
    uuid: "689b58e2-cf7b-45e0-9fff-9cfc0883d6b4",
    name: "spatial:",
    description: "Spatial coordinate information",
  },
};

/** A picture of a place: the array itself, or a smaller version of it. */
export interface GeoLevel {
  readonly height: number;
  readonly width: number;
  /** The number of rows and columns of the place for each one of the picture. */
  readonly factorY: number;
  readonly factorX: number;
}

/**
 * Composes the attributes of the place of a picture.
 *
 * @param dimensions The names of the dimensions of rows and columns.
 */
export function geoAttributes(
  { transform: outer, isPoint, code, tags }: GeoPlace,
  level: GeoLevel,
  dimensions: readonly [string, string],
): Record<string, unknown> {
  const transform = outer && levelTransform(outer, isPoint, level);
  const conventions = [
    ...code === undefined ? [] : [CONVENTIONS.proj],
    ...transform === undefined ? [] : [CONVENTIONS.spatial],
  ];
  return {
    ...code !== undefined && { "proj:code": code },
    ...transform && {
      "spatial:dimensions": dimensions,
      "spatial:registration": isPoint ? "node" : "pixel",
      "spatial:transform_type": "affine",
      "spatial:bbox": bboxOf(transform, isPoint, level),
      "spatial:transform": transform,
      "spatial:shape": [level.height, level.width],
    },
    ...tags && { geotiff: tags },
    ...conventions.length > 0 && { zarr_conventions: conventions },
  };
}

/** The transform of a level: of the corners of its pixels, or of their centers if they are points. */
function levelTransform(
  [a, b, c, d, e, f]: Affine,
  isPoint: boolean,
  { factorX, factorY }: GeoLevel,
): Affine {
  const scaled: Affine = [
    ...[a * factorX, b * factorY, c] as const,
    ...[d * factorX, e * factorY, f] as const,
  ];
  return isPoint ? moved(scaled, 0.5, 0.5) : scaled;
}

/** The bounding box of a picture, or of the centers of its pixels if they are points. */
function bboxOf(
  transform: Affine,
  isPoint: boolean,
  { height, width }: GeoLevel,
): number[] {
  const [rows, columns] = isPoint ? [height - 1, width - 1] : [height, width];
  const corners = [[0, 0], [columns, 0], [0, rows], [columns, rows]]
    .map(([column, row]) => moved(transform, column!, row!));
  const [xs, ys] = [2, 5].map((i) => corners.map((corner) => corner[i]!));
  return [Math.min, Math.max].flatMap((end) => [end(...xs!), end(...ys!)]);
}

/** Merges the attributes of files with those of the user, which take precedence; the lists of conventions are joined. */
export function joinAttributes(
  ofFiles: Readonly<Record<string, unknown>>,
  given: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  const lists = [ofFiles, given].map(({ zarr_conventions: list }) =>
    Array.isArray(list) ? list : []
  );
  return {
    ...ofFiles,
    ...given,
    ...lists.flat().length > 0 && { zarr_conventions: lists.flat() },
  };
}

/** A dimension of all levels. */
interface PyramidAxis {
  readonly name: string;
  /** The distance between two elements of the largest level. Defaults to 1. */
  readonly scale?: number | undefined;
  /** The unit of `scale` by its name in UDUNITS-2, such as `micrometer`. */
  readonly unit?: string | undefined;
}

/** A channel, as OME-Zarr has it in `omero`. */
export interface PyramidChannel {
  readonly label?: string | undefined;
  /** The color as six hexadecimal digits. */
  readonly color?: string | undefined;
}

/** The levels of a pyramid, and the properties in its attributes. */
interface Pyramid {
  readonly name: string;
  readonly axes: readonly PyramidAxis[];
  /** The levels, the largest first. */
  readonly levels: readonly PyramidLevel[];
  readonly channels?: readonly PyramidChannel[] | undefined;
  /** The data type by its Zarr name. */
  readonly dataType: string;
  readonly place?: GeoPlace | undefined;
  /** The names of the dimensions of rows and columns. */
  readonly dimensions: readonly [string, string];
}

/** An array of a pyramid. */
interface PyramidLevel extends GeoLevel {
  /** The path of the array in the group. */
  readonly path: string;
}

/** Composes the attributes of the group. */
export function pyramidAttributes(
  pyramid: Pyramid,
): { attributes: Record<string, unknown>; notes: string[] } {
  const { levels, axes, place, dimensions } = pyramid;
  const ome = omeAttributes(pyramid);
  const factors = levels.map((level) => factorsOf(level, axes, dimensions));
  return {
    attributes: joinAttributes({
      ...typeof ome === "string" ? {} : { ome },
      multiscales: {
        layout: levels.map((level, i) => ({
          asset: level.path,
          ...i > 0 && { derived_from: levels[i - 1]!.path },
          transform: {
            scale: factors[i]!.map((factor, axis) =>
              i === 0 ? 1 : factor / factors[i - 1]![axis]!
            ),
            translation: axes.map(() => 0),
          },
          ...place?.transform && {
            "spatial:transform": levelTransform(
              place.transform,
              place.isPoint,
              level,
            ),
            "spatial:shape": [level.height, level.width],
          },
        })),
      },
      zarr_conventions: [CONVENTIONS.multiscales],
    }, place && geoAttributes(place, levels[0]!, dimensions)),
    // Programs for maps read the other conventions.
    notes: typeof ome === "string" && place === undefined ? [ome] : [],
  };
}

/** The number of elements of the largest level for each one of a level. */
function factorsOf(
  { factorX, factorY }: GeoLevel,
  axes: readonly PyramidAxis[],
  [y, x]: readonly [string, string],
): number[] {
  return axes.map(({ name }) =>
    name === y ? factorY : name === x ? factorX : 1
  );
}

/** The types of axes by their names; all others are of the user's own types. */
const AXIS_TYPES: Readonly<Record<string, string>> = {
  t: "time",
  c: "channel",
  band: "channel",
  z: "space",
  y: "space",
  x: "space",
};

/** Composes the attribute `ome`, or a note with the reason why there is none. */
function omeAttributes(
  { name, axes, levels, channels, dataType, dimensions }: Pyramid,
): Record<string, unknown> | string {
  const types = axes.map(({ name }) =>
    dimensions.includes(name) ? "space" : AXIS_TYPES[name]
  );
  const order = types.map((type) => (type ?? "custom")[0]).join("");
  // Time, then one channel or dimension of the user's own, then two or three of space.
  const isOrdered = /^t?[c]?s{2,3}$/.test(order);
  if (!isOrdered) {
    const names = axes.map(({ name }) => name).join(", ");
    return `There is no attribute ome, since OME-Zarr has no dimensions ${names}: the option "dimensionNames", or --dimension-names, can name them t, c, z, y and x, in this order`;
  }
  return {
    version: "0.5",
    multiscales: [{
      name,
      axes: axes.map(({ name, unit }, i) => ({
        name,
        ...types[i] !== undefined && { type: types[i] },
        ...unit !== undefined && { unit },
      })),
      datasets: levels.map((level) => ({
        path: level.path,
        coordinateTransformations: [{
          type: "scale",
          scale: factorsOf(level, axes, dimensions)
            .map((factor, i) => factor * (axes[i]!.scale ?? 1)),
        }],
      })),
    }],
    ...channels && omeroOf(channels, dataType),
  };
}

/** The colors of channels that have none. */
const WHITE = "FFFFFF";

/** The member `omero`, which needs the least and the greatest element, and so a data type of integers. */
function omeroOf(
  channels: readonly PyramidChannel[],
  dataType: string,
): Record<string, unknown> {
  const [, kind, digits] = /^(u?)int(\d+)$/.exec(dataType) ?? [];
  if (kind === undefined) return {};
  const bits = Number(digits);
  const [min, max] = kind === "u"
    ? [0, 2 ** bits - 1]
    : [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1];
  return {
    omero: {
      channels: channels.map(({ label, color = WHITE }) => ({
        ...label !== undefined && { label },
        color,
        active: true,
        window: { min, max, start: min, end: max },
      })),
    },
  };
}
