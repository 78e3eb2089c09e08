import { assertEquals, assertRejects } from "@std/assert";
import * as zarr from "zarrita";
import { createArrayChunks, type Store } from "../../mod.ts";
import { registerCodecs, setSharded } from "../../zarrita.ts";
import { IN_PARTS } from "../support/in_parts.ts";
import { arrayMetadata } from "../support/metadata.ts";
import {
  numbers,
  openIn,
  readAnew,
  row,
  shardedMetadata,
} from "./sharded_array.ts";

registerCodecs(zarr.registry);

const LOST = new Error("The store is gone");

/** A store that gives the very bytes it holds, as a Map does, and fails if told so. */
function keeping(hasRanges: boolean) {
  const values = new Map<string, Uint8Array>();
  const state = { isGone: false };
  const store: Store = {
    get: (key) => Promise.resolve(values.get(key)),
    set(key, value) {
      if (state.isGone) return Promise.reject(LOST);
      values.set(key, value as Uint8Array);
      return Promise.resolve();
    },
    delete: (key) => Promise.resolve(values.delete(key)),
    ...hasRanges && {
      getRange: (key, range) => {
        const value = values.get(key);
        return Promise.resolve(
          "suffixLength" in range
            ? value?.subarray(-range.suffixLength)
            : value?.subarray(range.offset, range.offset + range.length),
        );
      },
    },
  };
  return { store, state };
}

const ARRAYS = {
  "in shards": shardedMetadata(),
  "in shards with the index at the start": shardedMetadata({}, {
    location: "start",
  }),
  "in parts": arrayMetadata({
    shape: [12],
    chunk_grid: { name: "regular", configuration: { chunk_shape: [4] } },
    codecs: ["bytes"],
    ...IN_PARTS,
  }),
};

for (const [what, metadata] of Object.entries(ARRAYS)) {
  Deno.test(`zarr.set that fails changes no bytes that a store returned by reference, for an array ${what}`, async () => {
    for (const hasRanges of [true, false]) {
      const { store, state } = keeping(hasRanges);
      await createArrayChunks(store, "", metadata);
      const array = await openIn(store);
      const isSharded = what.includes("shards");
      await (isSharded
        ? setSharded(zarr, array, null, row(...numbers(12)))
        : zarr.set(array, null, row(...numbers(12))));
      state.isGone = true;
      const writes = [
        () => zarr.set(array, [1], 99),
        ...isSharded ? [() => setSharded(zarr, array, [1], 99)] : [],
      ];
      for (const write of writes) {
        assertEquals(await assertRejects(write), LOST);
        assertEquals(await readAnew(store), numbers(12));
      }
      const { data } = await array.getChunk([0]);
      data.fill(99);
      assertEquals(await readAnew(store), numbers(12));
    }
  });
}
