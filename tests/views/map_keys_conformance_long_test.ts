import {
  mapKeys,
  type MapKeysOptions,
  MemoryStore,
  type StoreKey,
} from "../../mod.ts";
import { type OpenedStore, testStore } from "../stores/conformance.ts";
import { STORES } from "./every_store.ts";

/** Targets beside, above and below the keys, and two keys that change places. */
const TABLE = new Map<StoreKey, StoreKey>([
  ["/c/0/0", "/S2A_T32TMT_B04.tif"],
  ["/c/0/1", "/raw/S2A_T32TMT_B08.tif"],
  ["/c/0/10", "/c/0/x"],
  ["/c/1/0", "/x/y/c/0/1"],
  ["/x/y/c/0/1", "/c/1/0"],
]);
const MAPPINGS: Record<
  string,
  {
    keys: Parameters<typeof mapKeys>[1];
    options?: MapKeysOptions;
    targetOf(key: StoreKey): StoreKey;
  }
> = {
  "by a table": { keys: TABLE, targetOf: (key) => TABLE.get(key) ?? key },
  "by a function": {
    keys: (key) => key.replace(/^\/c\//, "/raw/d/") as StoreKey,
    options: {
      inverse: (key) => key.replace(/^\/raw\/d\//, "/c/") as StoreKey,
    },
    targetOf: (key) => key.replace(/^\/c\//, "/raw/d/") as StoreKey,
  },
};

for (const [way, { keys, options, targetOf }] of Object.entries(MAPPINGS)) {
  const mapped = (opened: OpenedStore): OpenedStore => ({
    ...opened,
    store: mapKeys(opened.store, keys, options),
    fill: (key, bytes) => opened.fill(targetOf(key), bytes),
  });
  for (const [name, { lacks, open }] of Object.entries(STORES)) {
    testStore(
      `mapKeys of ${name}, ${way}`,
      async () => mapped(await open()),
      { lacks, hasWriter: name === "FileSystemStore" },
    );
  }
  testStore(`mapKeys of mapKeys, ${way}`, () => {
    const table = { "/raw/d/1": "/2", "/c/0/x": "/1", "/c/0/y": "/c/0/10" };
    const store = mapKeys(new MemoryStore(), table);
    const fill = (key: StoreKey, bytes: Uint8Array) => store.set(key, bytes);
    return Promise.resolve(mapped({ store, fill }));
  });
}
