import { ensureDir } from "@std/fs/ensure-dir";
import { rm } from "node:fs/promises";
import * as zarr from "zarrita";
import { readElevationModel } from "../../examples/browser/read_elevation_model.ts";
import { type ElevationModel, relief } from "../../examples/browser/relief.ts";
import { FileSystemStore, type Store } from "../../mod.ts";
import type { TiffGeoreference } from "../../tiff.ts";
import { withZarrParts } from "../../zarrita.ts";
import { mapImage } from "./map_image.ts";
import {
  type Picture,
  type ShardFiles,
  storeAsTiffs,
} from "./store_as_tiffs.ts";

/** A report of what the demo has stored and compared. */
export interface DemoResult {
  /** The elevations as they were read from TIFF files. */
  readonly model: ElevationModel;
  readonly box: BoundingBox;
  /** The files of the elevations and of the colours. */
  readonly elevations: readonly ShardFiles[];
  readonly colours: readonly ShardFiles[];
  /** The path of the map. */
  readonly map: string;
}

/**
 * Stores an elevation model, and a picture of it, as arrays in TIFF files, compares all
 * elements that zarrita reads from the files, and draws a map.
 *
 * @param source The folder of the elevation model, as zarr-python wrote it.
 * @param output The folder for `dem.zarr`, `relief.zarr` and `dem.png`. These are
 * replaced.
 * @throws {Error} If an element differs from the one that was stored.
 */
export async function runDemo(
  source: string,
  output: string,
): Promise<DemoResult> {
  const [demFolder, reliefFolder, map] = ["dem.zarr", "relief.zarr", "dem.png"]
    .map((name) => `${output}/${name}`) as [string, string, string];
  await ensureDir(output);
  for (const path of [demFolder, reliefFolder, map]) {
    await rm(path, { recursive: true, force: true });
  }

  const { shape, elements, fillValue, attributes } = await readPicture(
    new FileSystemStore(source),
  );
  const [height, width] = shape as [number, number];
  const box = attributes.bounding_box as BoundingBox;
  const georeference = georeferenceOf(box, { width, height });
  const elevations = await storeAsTiffs(demFolder, {
    shape,
    dimensionNames: ["latitude", "longitude"],
    elements,
    fillValue,
    attributes,
    tiff: {
      georeference,
      noData: fillValue,
      description: "Elevation in metres above sea level",
    },
  });
  const model = await readElevationModel(new FileSystemStore(demFolder));
  assertSame(model.elevations, elements, demFolder);

  const picture: Picture = {
    shape: [height, width, 3],
    dimensionNames: ["latitude", "longitude", "colour"],
    elements: withoutAlpha(relief(model)),
    fillValue: 0,
    attributes: { bounding_box: box },
    tiff: {
      georeference,
      bands: "last",
      colors: "rgb",
      description: "Shaded relief, tinted by elevation",
    },
  };
  const colours = await storeAsTiffs(reliefFolder, picture);
  const stored = await readPicture(new FileSystemStore(reliefFolder));
  assertSame(stored.elements, picture.elements, reliefFolder);

  await Deno.writeFile(map, mapImage(model));
  return { model, box, elevations, colours, map };
}

/** Keeps red, green and blue of each pixel. */
function withoutAlpha(pixels: Uint8ClampedArray): Uint8Array {
  return Uint8Array.from(
    { length: pixels.length / 4 * 3 },
    (_, i) => pixels[Math.floor(i / 3) * 4 + i % 3]!,
  );
}

/** Reads a whole array of int16 or uint8 through zarrita. */
export async function readPicture(
  store: Store,
): Promise<Pick<Picture, "shape" | "elements" | "fillValue" | "attributes">> {
  const array = await zarr.open.v3(withZarrParts(store), { kind: "array" })
    .catch((cause) => {
      throw new Error(`No array can be opened in ${store}`, { cause });
    });
  if (!array.is("int16") && !array.is("uint8")) {
    throw new TypeError(
      `Expected an array of int16 or uint8, found ${array.dtype}`,
    );
  }
  const { data } = await zarr.get(array);
  const { shape, fillValue, attrs } = array;
  return {
    shape,
    elements: data,
    fillValue: fillValue ?? 0,
    attributes: attrs,
  };
}

/** Compares the elements that were read from a folder with those that were stored. */
export function assertSame(
  read: ArrayLike<number>,
  stored: ArrayLike<number>,
  folder: string,
): void {
  if (read.length !== stored.length) {
    throw new Error(
      `Expected ${stored.length} elements in ${folder}, found ${read.length}`,
    );
  }
  for (let i = 0; i < stored.length; i++) {
    if (read[i] === stored[i]) continue;
    throw new Error(
      `Expected element ${i} in ${folder} to be ${stored[i]}, found ${read[i]}`,
    );
  }
}

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
