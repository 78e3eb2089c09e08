import { PLAIN } from "./plain_translation.ts";
import { type PlainStore, viewStore } from "./store_view.ts";
import { assertStore } from "../stores/assert_store.ts";
import { describeStore, inspectAsString } from "../stores/describe_store.ts";
import type { Store } from "../stores/store.ts";

/**
 * Shows a store as if every array in it, at any depth, had `default` chunk keys
 * and no storage transformers, so that programs that know nothing else can read
 * it, write it and copy it. Its `zarr.json` says so too, also where a group's
 * consolidated metadata has it, and chunk keys lead to where chunks are stored.
 * Everything else is as it is in the store; an array that is plain already costs
 * no more for each chunk than a look-up in memory.
 *
 * Written back, the `zarr.json` of an array that is shown otherwise than it is
 * stored keeps its chunk key encoding and its storage transformers.
 *
 * The metadata of an array is looked at once, when the first of its chunks is asked
 * for. Changes of it through the view are noticed, others are not.
 *
 * @param store Any store.
 * @returns The view. Its methods reject with a {@linkcode MetadataError} where a
 * `zarr.json` says what this package does not know of how chunks are stored, with
 * a `RangeError` for a key outside an array's chunk grid, and with what
 * `ConcatParts.apply` says for chunks that are not whole.
 *
 * @example
 * ```ts
 * import { createArrayChunks, MemoryStore, plainView } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const stored = new MemoryStore();
 * const chunks = await createArrayChunks(stored, "elevation", {
 *   zarr_format: 3,
 *   node_type: "array",
 *   shape: [4, 4],
 *   data_type: "uint8",
 *   chunk_grid: { name: "regular", configuration: { chunk_shape: [2, 2] } },
 *   chunk_key_encoding: { name: "suffix", configuration: { suffix: ".bin" } },
 *   fill_value: 0,
 *   codecs: [{ name: "bytes" }, { name: "crc32c" }],
 *   storage_transformers: [{
 *     name: "concat-parts",
 *     configuration: { parts: [{ key_suffix: "" }, { key_suffix: ".crc32c", size: 4 }] },
 *   }],
 * });
 * await chunks.set([0, 1], new Uint8Array(8));
 *
 * const plain = plainView(stored);
 * assertEquals((await plain.get("/elevation/c/0/1"))?.length, 8);
 * assertEquals((await Array.fromAsync(plain.list())).sort(), [
 *   "/elevation/c/0/1",
 *   "/elevation/zarr.json",
 * ]);
 * const document = new TextDecoder().decode(await plain.get("/elevation/zarr.json"));
 * assertEquals(JSON.parse(document).chunk_key_encoding.name, "default");
 * ```
 */
export function plainView<S extends Store>(store: S): PlainStore<S> {
  assertStore(store);
  const view = viewStore(store, PLAIN);
  Object.defineProperty(view, "toString", {
    value: () => `plainView(${describeStore(store)})`,
  });
  inspectAsString(view);
  return view;
}
