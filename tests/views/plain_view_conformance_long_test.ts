import {
  ArrayChunks,
  plainView,
  type Store,
  type StoreKey,
} from "../../mod.ts";
import { testStore } from "../stores/conformance.ts";
import { encodeJson } from "../support/documents.ts";
import { IN_PARTS } from "../support/in_parts.ts";
import { arrayMetadata, concatParts } from "../support/metadata.ts";
import { STORES } from "./every_store.ts";

for (const [name, { lacks, open }] of Object.entries(STORES)) {
  testStore(`plainView of ${name} without arrays`, async () => {
    const opened = await open();
    return { ...opened, store: plainView(opened.store) };
  }, { lacks });
}

/** Arrays whose chunks have the keys that the suite uses. */
const ARRAYS: Record<string, Record<string, unknown>> = {
  "other keys": { chunk_key_encoding: "v2" },
  "parts and other keys": IN_PARTS,
  "parts in parts": {
    storage_transformers: [
      concatParts({ key_suffix: ".head", size: 5 }, { key_suffix: ".data" }),
      concatParts({ key_suffix: "-a", size: 1 }, { key_suffix: "-b" }),
    ],
  },
};
const BOUNDARIES: Record<string, number[]> = {
  "parts in parts": [1, 5, 6],
};
const SMALLEST: Record<string, number> = {
  "parts and other keys": 2,
  "parts in parts": 6,
};

for (const [name, { lacks, open }] of Object.entries(STORES)) {
  for (const [array, changes] of Object.entries(ARRAYS)) {
    const metadata = arrayMetadata({ shape: [100, 100], ...changes });
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
      {
        lacks,
        smallest: SMALLEST[array] ?? 0,
        boundaries: BOUNDARIES[array] ?? [],
      },
    );
  }
}

/**
 * Adapts a view to the suite: hides documents that the suite did not write, and
 * treats refused chunks of three dimensions as absent.
 */
function withoutDocument(view: Store): Store {
  const keyOf = (key: StoreKey) => key === "/c/0/1/0" ? "/c/0/12" : key;
  const store: Record<string, unknown> = { ...view };
  for (const method of ["get", "getRange", "stream", "size", "delete"]) {
    const target = view[method as keyof Store] as
      | ((key: StoreKey, ...rest: unknown[]) => unknown)
      | undefined;
    if (!target) continue;
    store[method] = (key: StoreKey, ...rest: unknown[]) =>
      target(keyOf(key), ...rest);
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
