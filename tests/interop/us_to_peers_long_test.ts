import * as zarr from "zarrita";
import {
  createArrayChunks,
  MemoryStore,
  plainView,
  type StoreKey,
} from "../../mod.ts";
import { registerCodecs, withZarrParts } from "../../zarrita.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { encodeJson, groupMetadata } from "../support/documents.ts";
import { testWith } from "../support/tools.ts";
import { assertFilledChunks } from "./assert_filled_chunks.ts";
import { Exchange, PEERS } from "./exchange.ts";
import type { InteropArray } from "./interop_array.ts";
import { GROUPS, MATRIX } from "./matrix.ts";
import { assertFailures, failuresOf } from "./outcomes.ts";
import { CANNOT_READ, CANNOT_WRITE } from "./peer_limits.ts";
import { PYTHON } from "./python.ts";
import { STORAGE_WAYS } from "./storage_ways.ts";
import { copyPlain } from "./store_again.ts";
import { writeElements, writeFilledElements } from "./write_elements.ts";

registerCodecs(zarr.registry);

const WRITERS = [
  { how: "at once", write: writeElements, isSparse: false },
  {
    how: "without chunks of only the fill value",
    write: writeFilledElements,
    isSparse: true,
  },
];

for (const { how, write, isSparse } of WRITERS) {
  testWith(
    PYTHON,
    `plainView lets peers read arrays in parts that zarrita and setSharded wrote ${how}`,
    async (python, t) => {
      const stored = new MemoryStore();
      const failures = await storeAll(stored, write);
      assertFailures(failures, CANNOT_WRITE.zarrita!, MATRIX);
      const arrays = MATRIX.filter(({ path }) => !(path in failures));
      if (isSparse) {
        for (const array of arrays) await assertFilledChunks(stored, array);
      }
      await inTempDir(async (folder) => {
        const exchange = new Exchange(folder, arrays);
        await copyPlain(stored, exchange.store);
        for (const peer of PEERS) {
          await t.step(peer.name, async () => {
            const read = await exchange.read(python, peer);
            const failures = await failuresOf(arrays, read);
            assertFailures(failures, CANNOT_READ[peer.name]!, arrays);
          });
        }
      });
    },
  );
}

/** Stores all arrays in parts, each in one of the ways; returns the errors by path. */
async function storeAll(
  stored: MemoryStore,
  write: typeof writeElements,
): Promise<Record<string, string>> {
  const store = withZarrParts(stored);
  const ways = Object.values(STORAGE_WAYS);
  const failures: Record<string, string> = {};
  for (const [i, array] of MATRIX.entries()) {
    const way = ways[i % ways.length]!(leastChunkSize(array));
    const metadata = { ...array.metadata, ...way };
    await createArrayChunks(stored, array.path, metadata);
    try {
      await write(store, array);
    } catch (error) {
      failures[array.path] = String(error);
    }
  }
  await writeGroups(stored, MATRIX.filter(({ path }) => !(path in failures)));
  return failures;
}

/** Returns a lower bound for the size of a chunk, in bytes. */
function leastChunkSize({ metadata, chunkShape, fill }: InteropArray): number {
  const isPlain = metadata.codecs.every((codec) =>
    /^(bytes|transpose|crc32c)$/.test((codec as { name: string }).name)
  );
  return isPlain
    ? chunkShape.reduce((size, length) => size * length, fill.length)
    : 8;
}

/** Writes all groups, with consolidated metadata in the root. */
async function writeGroups(
  stored: MemoryStore,
  arrays: readonly InteropArray[],
): Promise<void> {
  const nodes = Object.fromEntries([
    ...GROUPS.slice(1).map((path) => [path, groupMetadata()]),
    ...arrays.map(({ path, metadata }) => [path, metadata]),
  ]);
  const view = plainView(stored);
  for (const path of GROUPS) {
    const key: StoreKey = path === "" ? "/zarr.json" : `/${path}/zarr.json`;
    const document = groupMetadata(path === "" ? nodes : undefined);
    await view.set(key, encodeJson(document));
  }
}
