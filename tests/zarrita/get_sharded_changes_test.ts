import { assert, assertEquals } from "@std/assert";
import * as zarr from "zarrita";
import {
  type ArrayMetadata,
  arrayMetadata,
  createArrayChunks,
  MemoryStore,
} from "../../mod.ts";
import { LEAST_BYTES } from "../../src/zarrita/get_sharded.ts";
import {
  getSharded,
  registerCodecs,
  setSharded,
  ThreadPool,
  withZarrParts,
} from "../../zarrita.ts";
import { encodeJson } from "../support/documents.ts";

registerCodecs(zarr);
LEAST_BYTES.toUse = 0;

const METADATA = arrayMetadata({
  shape: [12, 12],
  dataType: "uint16",
  chunkShape: [3, 3],
  shardShape: [6, 6],
  fillValue: 9,
  codecs: ["gzip"],
});

/** Changes of an array's document after a program has opened the array. */
const CHANGES: Record<string, ArrayMetadata> = {
  "became smaller": { ...METADATA, shape: [7, 6] },
  "grew": { ...METADATA, shape: [20, 20] },
  "was created again with other inner chunks": arrayMetadata({
    shape: [12, 12],
    dataType: "uint16",
    chunkShape: [2, 2],
    shardShape: [6, 6],
    fillValue: 9,
    codecs: ["gzip"],
  }),
  "was created again with another number of dimensions": arrayMetadata({
    shape: [12],
    dataType: "uint16",
    chunkShape: [3],
    shardShape: [6],
    fillValue: 9,
    codecs: ["gzip"],
  }),
};

for (const [change, metadata] of Object.entries(CHANGES)) {
  Deno.test(`getSharded reads what zarr.get does of an array that ${change} since it was opened`, async () => {
    using threads = new ThreadPool({ threads: 2 });
    const stored = new MemoryStore();
    await createArrayChunks(stored, "", METADATA);
    const opened = await zarr.open(withZarrParts(stored), { kind: "array" });
    const array = opened as zarr.Array<"uint16", typeof opened.store>;
    const data = Uint16Array.from({ length: 144 }, (_, i) => 100 + i);
    await setSharded(zarr, array, null, data);
    const document = encodeJson(metadata);
    await stored.set("/zarr.json", document);
    await zarr.open(withZarrParts(stored), { kind: "array" });

    // Through the same store, whose arrays may be known, and through a new one.
    for (const isKnown of [true, false]) {
      if (!isKnown) await zarr.open(array.store, { kind: "array" });
      const expected = await outcome(() => zarr.get(array));
      const found = await outcome(() =>
        getSharded(zarr, array, null, { threads })
      );
      assertEquals(found, expected);
      assert(found !== undefined);
    }
  });
}

/** The elements that a function returns, or its error. */
async function outcome(
  read: () => Promise<{ data: Iterable<number> }>,
): Promise<unknown> {
  try {
    return [...(await read()).data];
  } catch (error) {
    return String(error);
  }
}
