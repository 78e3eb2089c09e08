import { describe } from "../metadata/describe.ts";
import { readRange } from "../stores/capabilities.ts";
import type { Store, StoreKey, StoreOptions } from "../stores/store.ts";
import { describeTiff } from "./describe_tiff.ts";
import { type PageSelection, selectPages } from "./page_selection.ts";
import { shardOf, type TiffShard } from "./tiff_shard.ts";

/** Reads the pages of a file that are adopted. */
export async function readShard(
  store: Store,
  { key, size }: { readonly key: StoreKey; readonly size: number },
  selection: PageSelection,
  storeOptions: StoreOptions,
): Promise<TiffShard> {
  const description = await describeTiff(
    (range) => readRange(store, key, range, storeOptions),
    { key, size, page: selection.page },
  );
  const name = `File ${describe(key)}`;
  return shardOf(selectPages(description, selection, name), name, key);
}
