import { assertEquals } from "@std/assert";
import { FileSystemStore } from "@zarrita/storage";
import fc from "fast-check";
import { MemoryStore, PartSizeError, type Store } from "../../mod.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { countingBytes } from "../support/bytes.ts";
import { ALL_KINDS, withStore } from "./stores_below.ts";
import {
  arbitraryLengths as lengths,
  arbitrarySizes as sizes,
  inPieces,
  partsOf,
  sum,
} from "../splitter/oracle.ts";

/** All kinds of stores for parts, and zarrita's stores. */
const STORES: Record<
  string,
  (run: (store: Store) => Promise<void>) => Promise<void>
> = {
  "a Map": (run) => run(new Map() as unknown as Store),
  "zarrita's FileSystemStore": (run) =>
    inTempDir((root) => run(new FileSystemStore(root))),
};
for (const kind of ALL_KINDS) {
  STORES[kind] = (run) => withStore(kind, (below) => run(below.open()));
}

/** A chunk to set, in some cases of the wrong length. */
const setting = fc.record({
  rest: fc.nat(20),
  lengths,
  wrong: fc.oneof(
    { weight: 4, arbitrary: fc.constant(0) },
    { weight: 1, arbitrary: fc.constantFrom(-1, 1) },
  ),
});

for (const [name, withOne] of Object.entries(STORES)) {
  Deno.test(`ConcatParts.apply: set of a stream stores what set of its bytes would, over ${name}`, async () => {
    await fc.assert(
      fc.asyncProperty(
        sizes,
        fc.array(setting, { minLength: 1, maxLength: 3 }),
        async (sizes, settings) => {
          const parts = partsOf(sizes);
          const oracle = new MemoryStore();
          const plain = parts.apply(oracle);
          await withOne(async (store) => {
            const composed = parts.apply(store);
            for (
              const [first, { rest, lengths, wrong }] of settings.entries()
            ) {
              const size = sum(sizes) + (sizes.includes(undefined) ? rest : 0);
              const chunk = new Uint8Array(
                countingBytes(Math.max(0, size + wrong), 100 * first),
              );
              assertEquals(
                await outcome(composed.set!(
                  "/c/0",
                  ReadableStream.from(inPieces(chunk, lengths)),
                )),
                await outcome(plain.set("/c/0", chunk)),
              );
              for (const i of sizes.keys()) {
                const found = await store.get(`/c/0.${i}`);
                assertEquals(
                  found && Array.from(found),
                  toArray(await oracle.get(`/c/0.${i}`)),
                );
              }
            }
          });
        },
      ),
      { numRuns: 60 },
    );
  });
}

function toArray(bytes: Uint8Array | undefined): number[] | undefined {
  return bytes && Array.from(bytes);
}

/** `"stored"`, or the key and the size that an error expects. */
async function outcome(done: Promise<void>): Promise<unknown> {
  try {
    await done;
    return "stored";
  } catch (error) {
    if (!(error instanceof PartSizeError)) throw error;
    return [error.key, error.expected];
  }
}
