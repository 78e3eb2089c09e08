/** All views pass the suite of stores, over every kind of store. */
import {
  ArrayChunks,
  mapKeys,
  plainView,
  type Store,
  type StoreKey,
  v2View,
} from "../../mod.ts";
import { testStore } from "../stores/conformance.ts";
import { encodeJson } from "../support/documents.ts";
import { IN_PARTS } from "../support/in_parts.ts";
import { arrayMetadata, concatParts } from "../support/metadata.ts";
import { STORES } from "./every_store.ts";

/** Targets beside, above and below the keys, and two keys that change places. */
const TABLE = new Map<StoreKey, StoreKey>([
  ["/c/0/0", "/S2A_T32TMT_B04.tif"],
  ["/c/0/1", "/raw/S2A_T32TMT_B08.tif"],
  ["/c/0/10", "/c/0/x"],
  ["/c/1/0", "/x/y/c/0/1"],
  ["/x/y/c/0/1", "/c/1/0"],
]);

/** Arrays whose chunks have the keys that the suite uses. */
const ARRAYS: Record<
  string,
  [
    changes: Record<string, unknown>,
    sizes?: { smallest?: number; boundaries?: number[] },
  ]
> = {
  "other keys": [{ chunk_key_encoding: "v2" }],
  "parts and other keys": [IN_PARTS, { smallest: 2 }],
  "parts in parts": [{
    storage_transformers: [
      concatParts({ key_suffix: ".head", size: 5 }, { key_suffix: ".data" }),
      concatParts({ key_suffix: "-a", size: 1 }, { key_suffix: "-b" }),
    ],
  }, { smallest: 6, boundaries: [1, 5, 6] }],
};

for (const [name, { lacks, open }] of Object.entries(STORES)) {
  const hasWriter = !lacks.includes("set");
  for (const view of [plainView, v2View]) {
    testStore(`${view.name} of ${name} without arrays`, async () => {
      const opened = await open();
      return { ...opened, store: view(opened.store) };
    }, { lacks, hasWriter });
  }
  testStore(`mapKeys of ${name}`, async () => {
    const opened = await open();
    return {
      ...opened,
      store: mapKeys(opened.store, TABLE),
      fill: (key, bytes) => opened.fill(TABLE.get(key) ?? key, bytes),
    };
  }, { lacks, hasWriter });
  for (const [array, [changes, sizes]] of Object.entries(ARRAYS)) {
    // Chunks that may be as long as the values of the suite.
    const chunk_shape = [2000, 2000];
    const metadata = arrayMetadata({
      shape: [50_000, 50_000],
      chunk_grid: { name: "regular", configuration: { chunk_shape } },
      ...changes,
    });
    testStore(
      `plainView of ${name}, the chunks of an array with ${array}`,
      async () => {
        const opened = await open();
        await opened.fill("/zarr.json", encodeJson(metadata));
        const filled: Store = {
          get: (key) => opened.store.get(key),
          set: (key, bytes) => opened.fill(key, bytes as Uint8Array),
        };
        return {
          ...opened,
          store: withoutDocument(plainView(opened.store)),
          async fill(key, bytes) {
            const [, ...coordinates] =
              /^\/c\/(\d+)\/(\d+)$/.exec(key)?.map(Number) ?? [];
            await (coordinates.length === 2
              ? new ArrayChunks(filled, "", metadata).set(coordinates, bytes)
              : opened.fill(key, bytes));
          },
        };
      },
      { lacks, ...sizes },
    );
  }
}

/**
 * Adapts a view to the suite: hides documents that the suite did not write, and
 * treats refused chunks of three dimensions as absent.
 */
function withoutDocument(view: Store): Store {
  const keyOf = (key: StoreKey) => key === "/c/0/1/0" ? "/c/0/12" : key;
  const store: Record<string, unknown> = {};
  for (
    const method of ["get", "getRange", "stream", "size", "set", "delete"]
  ) {
    const target = view[method as keyof Store] as
      | ((key: StoreKey, ...rest: unknown[]) => unknown)
      | undefined;
    if (!target) continue;
    store[method] = (key: StoreKey, ...rest: unknown[]) =>
      target.call(view, method === "set" ? key : keyOf(key), ...rest);
  }
  if (view.list) {
    store.list = async function* (
      ...args: Parameters<Required<Store>["list"]>
    ) {
      for await (const key of view.list!(...args)) {
        if (key !== "/zarr.json") yield key;
      }
    };
  }
  return store as unknown as Store;
}
