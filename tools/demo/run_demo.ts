import { readElevationModel } from "../../examples/browser/read_elevation_model.ts";
import { type ElevationModel, relief } from "../../examples/browser/relief.ts";
import { FileSystemStore } from "../../mod.ts";
import { assertSame } from "./assert_same.ts";
import { type BoundingBox, georeferenceOf } from "./georeference.ts";
import { mapImage } from "./map_image.ts";
import { readPicture } from "./read_picture.ts";
import { removeIfPresent } from "./remove_if_present.ts";
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
  await Deno.mkdir(output, { recursive: true });
  for (const path of [demFolder, reliefFolder, map]) {
    await removeIfPresent(path);
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
