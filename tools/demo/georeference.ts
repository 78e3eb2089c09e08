import type { TiffGeoreference } from "../../tiff.ts";

/** The edges of a picture in degrees, as in the attribute `bounding_box` of the elevation model. */
export interface BoundingBox {
  readonly west: number;
  readonly south: number;
  readonly east: number;
  readonly north: number;
}

/** Longitude and latitude on WGS 84, for pixels that are areas (OGC GeoTIFF 1.1, annex B). */
// deno-fmt-ignore
const WGS_84 = [
  1, 1, 0, 3,
  1024, 0, 1, 2, // GTModelType: geographic
  1025, 0, 1, 1, // GTRasterType: a pixel is an area
  2048, 0, 1, 4326, // GeodeticCRS: EPSG 4326
];

/** The tags of GeoTIFF for a picture in longitude and latitude, north up. */
export function georeferenceOf(
  { west, south, east, north }: BoundingBox,
  { width, height }: { readonly width: number; readonly height: number },
): TiffGeoreference {
  return {
    modelPixelScale: [(east - west) / width, (north - south) / height, 0],
    modelTiepoint: [0, 0, 0, west, north, 0],
    geoKeyDirectory: WGS_84,
  };
}
