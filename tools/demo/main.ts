/**
 * Takes a sharded array that zarr-python wrote, stores its shards in parts, reads
 * the copy back, compares it with the source, and draws it as a map.
 */
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { elevationRange } from "../../examples/browser/relief.ts";
import { FileSystemStore, openArrayChunks } from "../../mod.ts";
import { compareElevations } from "./compare_elevations.ts";
import { compareShard } from "./compare_shards.ts";
import { SUFFIX } from "./in_parts.ts";
import { mapImage, SCALE_BAR_METRES } from "./map_image.ts";
import { storeInParts } from "./store_in_parts.ts";
import { table } from "./table.ts";

const at = (path: string) => fileURLToPath(import.meta.resolve(path));
const SOURCE = at("../../tests/fixtures/dem.zarr");
const OUTPUT = at("../../demo-output/dem.zarr");
const MAP = at("../../demo-output/dem.png");

/** A path as a command of the user can take it; `deno task` changes the folder. */
const shown = (path: string) =>
  relative(Deno.env.get("INIT_CWD") || Deno.cwd(), path);

const started = performance.now();
await Deno.mkdir(OUTPUT, { recursive: true });
await Deno.remove(OUTPUT, { recursive: true });
const source = await openArrayChunks(new FileSystemStore(SOURCE));
const all = await storeInParts(source, new FileSystemStore(OUTPUT));

// The copy is opened from its folder alone, as another program opens it.
const copy = await openArrayChunks(new FileSystemStore(OUTPUT));
const shards = await Promise.all(
  all.map((coordinates) => compareShard(source, copy, OUTPUT, coordinates)),
);
const stored = await Array.fromAsync(copy.list());
if (shards.length === 0 || stored.length !== shards.length) {
  throw new Error(
    `Expected ${shards.length} shards in ${OUTPUT}, found ${stored.length}`,
  );
}
const model = await compareElevations(SOURCE, OUTPUT);
await Deno.writeFile(MAP, mapImage(model));
const milliseconds = performance.now() - started;

const { shape, data_type } = source.metadata;
const { width, height, spacing } = model;
const { lowest, highest } = elevationRange(model)!;
const kilometres = (points: number, distance: number) =>
  `${(points * distance / 1000).toFixed(0)} km`;
const { key } = shards[0]!;
const rows = shards.map(({ coordinates, key, partSizes, size }) => [
  `(${coordinates.join(", ")})`,
  key,
  ...partSizes.map(String),
  String(size),
]);
const header = ["shard", "key", SUFFIX, `${SUFFIX}.index`, "together"];
console.log(`
Source: an elevation model in Zarr v3, written by zarr-python
        ${shape.join(" × ")} points of ${data_type} in ${
  source.gridShape.join(" × ")
} shards

Copy:   the same array with the suffix "${SUFFIX}", each shard in two parts
        Shard (0, 0) is ${key} with the inner chunks, and ${key}.index
        with the shard index; a reader needs one request for the index.
        Sizes in bytes:

${table([header, ...rows])}

Compared with the source, without a difference:
  ${shards.length} shards read as a whole
  ${shards.length} shards joined from their files without this library
  ${shards.length} shard indexes read by one range request each
  ${model.elevations.length} elevations read by zarrita through withZarrParts

Map:    Jacksboro fault, Tennessee, USA (36.4° to 36.7° N, 84.4° to 84.1° W)
        ${kilometres(width, spacing.x)} from west to east, ${
  kilometres(height, spacing.y)
} from north to south; north is up
        ${lowest} m (green) to ${highest} m (white) above sea level
        The bar in the corner is ${
  SCALE_BAR_METRES / 1000
} km long; light from the north-west

Done in ${milliseconds.toFixed(0)} ms. What to do next:
  See the map            ${shown(MAP)}
  See the stored files   ${shown(OUTPUT)}
  See how they are read  ${shown(at("../../README.md"))}
  Write your own array   ${shown(at("../../docs/writing.md"))}
`);
