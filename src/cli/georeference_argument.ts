import { basename, dirname } from "node:path";
import type { describeTiff, TiffOptions } from "../tiff/mod.ts";
import {
  type ArrayMetadata,
  isMembers,
  type Members,
} from "../metadata/mod.ts";
import { UsageError } from "./command.ts";
import { quoted } from "./format.ts";

type Georeference = NonNullable<TiffOptions["georeference"]>;

/** The forms of a georeference, for messages. */
const FORMS =
  "xmin,ymin,xmax,ymax,EPSG:N, six numbers of an affine transform and EPSG:N, the path of a GeoTIFF, of a world file or of a JSON file, or none";

/**
 * Parses the option `--georeference`.
 *
 * @returns What gives each array its georeference.
 * @throws {UsageError} If the option has another form, or names a file that cannot be read.
 */
export async function parseGeoreference(
  text: string,
): Promise<(metadata: ArrayMetadata) => Georeference | undefined> {
  if (text === "none") return () => undefined;
  const [, place = text, crs] = /^(.*),\s*([a-z]+:.+)$/i.exec(text) ?? [];
  const numbers = place.split(",").map((each) =>
    each.trim() === "" ? NaN : Number(each)
  );
  const system = crs === undefined ? {} : { crs };
  if (numbers.every(Number.isFinite)) {
    if (numbers.length === 4) return () => ({ bbox: numbers, ...system });
    if (numbers.length === 6) {
      return forOneSize({ transform: numbers, ...system });
    }
    throw new UsageError(
      `Expected --georeference with 4 or 6 numbers, found ${numbers.length}: ${FORMS}`,
    );
  }
  const found = await readGeoreference(place);
  return forOneSize(crs === undefined ? found : { ...found, crs });
}

/** Gives a georeference to arrays of one shape. */
function forOneSize(georeference: Georeference) {
  if ("bbox" in georeference) return () => georeference;
  let first: string | undefined;
  return (metadata: ArrayMetadata) => {
    const shape = metadata.shape.join(" × ");
    first ??= shape;
    if (shape === first) return georeference;
    throw new RangeError(
      `Expected arrays of one shape for this georeference, found ${first} and ${shape}: give --georeference xmin,ymin,xmax,ymax,EPSG:N, which has a transform for each`,
    );
  };
}

async function readGeoreference(path: string): Promise<Georeference> {
  const problem = (text: string) =>
    new UsageError(
      `Cannot use --georeference ${quoted(path)}: ${text}; expected ${FORMS}`,
    );
  const bytes = await Deno.readFile(path).catch((error) => {
    throw problem(
      error instanceof Deno.errors.NotFound
        ? "there is no such file"
        : error.message,
    );
  });
  const magic = String.fromCharCode(...bytes.subarray(0, 2));
  if (magic === "II" || magic === "MM") return await readGeotiff(path, problem);
  const text = new TextDecoder().decode(bytes.subarray(0, LONGEST_TEXT)).trim();
  if (text.startsWith("{")) return readJson(text, problem);
  const numbers = text.split(/\s+/).map(Number);
  if (numbers.length !== 6 || !numbers.every(Number.isFinite)) {
    throw problem("it is neither a TIFF nor JSON nor six numbers");
  }
  const [a = 0, d = 0, b = 0, e = 0, x = 0, y = 0] = numbers;
  // Beside a world file, such as `map.tfw`, `map.prj` holds the well-known text.
  const crs = await Deno.readTextFile(path.replace(/\.[^./\\]*$/, ".prj"))
    .then((text) => text.trim(), () => undefined);
  return {
    // A world file gives the place of the middle of the first pixel.
    transform: [a, b, x - (a + b) / 2, d, e, y - (d + e) / 2],
    ...crs !== undefined && { crs },
  };
}

const LONGEST_TEXT = 2 ** 20;

async function readGeotiff(
  path: string,
  problem: (text: string) => UsageError,
): Promise<Georeference> {
  const [{ describeTiff }, { FileSystemStore }] = await Promise.all([
    import("../tiff/mod.ts"),
    import("../stores/mod.ts"),
  ]);
  const store = new FileSystemStore(dirname(path));
  const key = `/${basename(path)}` as const;
  let described: Awaited<ReturnType<typeof describeTiff>>;
  try {
    const size = await store.size(key);
    described = await describeTiff(
      (range) => store.getRange(key, range),
      { key, size },
    );
  } catch (error) {
    throw problem(error instanceof Error ? error.message : String(error));
  }
  const page = described.pages.find(({ place }) => place !== undefined);
  const { modelTiepoint = [] } = page?.place ?? {};
  if (page?.place === undefined || modelTiepoint.length > 6) {
    throw problem(
      page === undefined
        ? "it has no tags of GeoTIFF"
        : "it has ground control points, and no transform",
    );
  }
  const size = ["y", "x"].map((axis) =>
    page.shape[page.axes.indexOf(axis as "y")]!
  );
  return { ...page.place, size };
}

/** Tags of GeoTIFF, or attributes of GeoZarr, also those of a whole `zarr.json`. */
function readJson(
  text: string,
  problem: (text: string) => UsageError,
): Georeference {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    throw problem((error as Error).message);
  }
  const members = parsed as Members;
  const attributes = isMembers(members.attributes)
    ? members.attributes
    : members;
  const {
    "spatial:transform": transform,
    "spatial:bbox": bbox,
    "spatial:shape": size,
    "spatial:registration": registration,
  } = attributes;
  if (transform === undefined && bbox === undefined) {
    return attributes as Georeference;
  }
  const crs = attributes["proj:code"] ?? attributes["proj:wkt2"] ??
    attributes["proj:projjson"];
  // Wrong values are refused where arrays get the georeference.
  return {
    ...transform === undefined ? { bbox } : { transform },
    ...registration === "node" && { isPoint: true },
    ...Array.isArray(size) && { size },
    ...crs !== undefined && crs !== null && { crs },
  } as Georeference;
}
