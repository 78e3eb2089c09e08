/**
 * The main job on a real array: stores an elevation model, as zarr-python wrote
 * it, again with suffixed keys and shards in parts, and reads it back.
 */
import { fileURLToPath } from "node:url";
import {
  type ArrayChunks,
  type ArrayMetadata,
  createArrayChunks,
  FileSystemStore,
  openArrayChunks,
  parseShardLayout,
  shardIndexSize,
} from "../mod.ts";

const SOURCE = fileURLToPath(import.meta.resolve("../tests/fixtures/dem.zarr"));
const OUTPUT = fileURLToPath(import.meta.resolve("../demo-output/dem.zarr"));
const SUFFIX = ".shard";
const HEADER_SIZE = 64;

/** The same array, with other keys and with shards in three parts. */
function inParts(metadata: ArrayMetadata): ArrayMetadata {
  return {
    ...metadata,
    chunk_key_encoding: { name: "suffix", configuration: { suffix: SUFFIX } },
    storage_transformers: [{
      name: "concat-parts",
      configuration: {
        parts: [
          { key_suffix: ".header", size: HEADER_SIZE },
          { key_suffix: "" },
          { key_suffix: ".index", size: indexSize(metadata) },
        ],
      },
    }],
  };
}

/** The length of a shard's index in bytes, as the codec of the shards says. */
function indexSize({ chunk_grid, codecs }: ArrayMetadata): number {
  const { chunk_shape } = chunk_grid.configuration as { chunk_shape: number[] };
  return shardIndexSize(parseShardLayout(codecs[0], chunk_shape));
}

/** Stores every chunk in parts, compares all that comes back, and returns what was stored. */
async function copyAndCompare(
  source: ArrayChunks,
  copy: ArrayChunks,
): Promise<{ rows: string[][]; chunks: number; bytes: number }> {
  const rows: string[][] = [];
  let bytes = 0;
  const all = (await Array.fromAsync(source.list()))
    .sort((a, b) => a[0]! - b[0]! || a[1]! - b[1]!);
  for (const coordinates of all) {
    const place = `chunk (${coordinates.join(", ")})`;
    const chunk = (await source.get(coordinates))!;
    await copy.set(coordinates, chunk);
    assertSame(
      await copy.get(coordinates),
      chunk,
      `${place}, read from its parts`,
    );

    const key = copy.key(coordinates).slice(1);
    const parts = await Promise.all(
      [".header", "", ".index"].map((suffix) =>
        Deno.readFile(`${OUTPUT}/${key}${suffix}`)
      ),
    );
    const files = new Uint8Array(await new Blob(parts).arrayBuffer());
    assertSame(files, chunk, `${place}, its files one after another`);

    const suffixLength = indexSize(source.metadata);
    assertSame(
      await copy.getRange(coordinates, { suffixLength }),
      chunk.subarray(-suffixLength),
      `${place}, its index by a range request`,
    );
    rows.push([
      `(${coordinates.join(", ")})`,
      key,
      ...parts.map(({ length }) => `${length}`),
      `${chunk.length}`,
    ]);
    bytes += chunk.length;
  }
  return { rows, chunks: all.length, bytes };
}

function assertSame(
  actual: Uint8Array | undefined,
  expected: Uint8Array,
  what: string,
): void {
  const same = actual?.length === expected.length &&
    expected.every((byte, i) => byte === actual[i]);
  if (!same) throw new Error(`Not the bytes of the source: ${what}`);
}

/** Rows with columns of one width, text to the left and numbers to the right. */
function table(rows: string[][]): string {
  const widths = rows[0]!.map((_, i) =>
    Math.max(...rows.map((row) => row[i]!.length))
  );
  return rows.map((row) =>
    row.map((cell, i) =>
      i < 2 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!)
    ).join("  ")
  ).join("\n");
}

const started = performance.now();
const source = await openArrayChunks(new FileSystemStore(SOURCE));
await Deno.mkdir(OUTPUT, { recursive: true });
await Deno.remove(OUTPUT, { recursive: true });
await createArrayChunks(
  new FileSystemStore(OUTPUT),
  "",
  inParts(source.metadata),
);
// Opened again, as anybody would who has nothing but the folder.
const copy = await openArrayChunks(new FileSystemStore(OUTPUT));
const { rows, chunks, bytes } = await copyAndCompare(source, copy);
const stored = await Array.fromAsync(copy.list());
if (chunks === 0 || stored.length !== chunks) {
  throw new Error(`Copied ${chunks} chunks, and ${stored.length} are listed`);
}
const milliseconds = performance.now() - started;

const { shape, data_type } = source.metadata;
const [[, firstKey] = []] = rows;
console.log(`
An elevation model: ${shape.join(" × ")} points of ${data_type} in ${
  source.gridShape.join(" × ")
} shards, written by zarr-python.

Stored again with the suffix "${SUFFIX}" and each shard in three parts: the first
one as ${firstKey}.header, ${firstKey} and ${firstKey}.index.
Sizes in bytes:

${table([["shard", "key", ".header", "data", ".index", "whole"], ...rows])}

Verified, byte for byte against the source:
  ${chunks} shards of ${bytes} bytes in all, read through the concat-parts transformer
  ${3 * chunks} files, put together without it
  ${chunks} shard indexes, each read by one range request

From  ${SOURCE}
To    ${OUTPUT}
Took  ${milliseconds.toFixed(0)} ms
`);
