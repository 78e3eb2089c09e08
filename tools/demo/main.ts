/**
 * The main job on a real array: stores an elevation model, as zarr-python wrote
 * it, again with suffixed keys and shards in parts, reads it back, and draws it.
 */
import { fileURLToPath } from "node:url";
import { FileSystemStore, openArrayChunks } from "../../mod.ts";
import { compareElevations } from "./compare_elevations.ts";
import { compareShard } from "./compare_shards.ts";
import { SUFFIX } from "./in_parts.ts";
import { picture } from "./picture.ts";
import { storeInParts } from "./store_in_parts.ts";
import { table } from "./table.ts";

const at = (path: string) => fileURLToPath(import.meta.resolve(path));
const SOURCE = at("../../tests/fixtures/dem.zarr");
const OUTPUT = at("../../demo-output/dem.zarr");
const PICTURE = at("../../demo-output/dem.png");

const started = performance.now();
await Deno.mkdir(OUTPUT, { recursive: true });
await Deno.remove(OUTPUT, { recursive: true });
const source = await openArrayChunks(new FileSystemStore(SOURCE));
const all = await storeInParts(source, new FileSystemStore(OUTPUT));

// Opened again, as anybody would who has nothing but the folder.
const copy = await openArrayChunks(new FileSystemStore(OUTPUT));
const shards = await Promise.all(
  all.map((coordinates) => compareShard(source, copy, OUTPUT, coordinates)),
);
const stored = await Array.fromAsync(copy.list());
if (shards.length === 0 || stored.length !== shards.length) {
  throw new Error(
    `Copied ${shards.length} shards, and ${stored.length} are listed`,
  );
}
const model = await compareElevations(SOURCE, OUTPUT);
await Deno.writeFile(PICTURE, picture(model));
const milliseconds = performance.now() - started;

const { shape, data_type } = source.metadata;
const { key } = shards[0]!;
const bytes = shards.reduce((sum, { size }) => sum + size, 0);
const rows = shards.map(({ coordinates, key, partSizes, size }) => [
  `(${coordinates.join(", ")})`,
  key,
  ...partSizes.map(String),
  String(size),
]);
console.log(`
An elevation model: ${shape.join(" × ")} points of ${data_type} in ${
  source.gridShape.join(" × ")
} shards, written by zarr-python.

Stored again with the suffix "${SUFFIX}" and each shard in three parts: the first
one as ${key}.header, ${key} and ${key}.index.
Sizes in bytes:

${table([["shard", "key", ".header", "data", ".index", "whole"], ...rows])}

Verified, byte for byte against the source:
  ${shards.length} shards of ${bytes} bytes in all, read through the concat-parts transformer
  ${3 * shards.length} files, put together without it
  ${shards.length} shard indexes, each read by one range request
And read through zarrita from the parts:
  ${model.elevations.length} elevations, the same that zarrita reads from the source

From  ${SOURCE}
To    ${OUTPUT}
Map   ${PICTURE}
Took  ${milliseconds.toFixed(0)} ms
`);
