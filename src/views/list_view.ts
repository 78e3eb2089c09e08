import { isBesideDocument, isV2Document } from "../arrays/v2_documents.ts";
import { DamageError } from "../errors/damage_error.ts";
import { MetadataError } from "../metadata/metadata_error.ts";
import type { Store, StoreKey, StoreOptions } from "../stores/store.ts";
import { assertStorePrefix } from "../stores/store_prefix.ts";
import type { TranslatedArrays } from "./translated_arrays.ts";
import type { TranslatedArray } from "./translation.ts";

const DOCUMENT = "/zarr.json";

/** Lists the keys that a view shows: those of Zarr v2 metadata only if no `zarr.json` is beside. */
export async function* listView(
  store: Store,
  arrays: TranslatedArrays,
  prefix: StoreKey,
  options: StoreOptions | undefined,
): AsyncGenerator<StoreKey> {
  for await (const key of listAll(store, arrays, prefix, options)) {
    const isHidden = isV2Document(key) &&
      await isBesideDocument(store, key, options);
    if (!isHidden) yield key;
  }
}

async function* listAll(
  store: Store,
  arrays: TranslatedArrays,
  prefix: StoreKey,
  options: StoreOptions | undefined,
): AsyncGenerator<StoreKey> {
  assertStorePrefix(prefix);
  const translated = await arraysWithin(store, arrays, prefix, options);
  const roots = new Set(translated.map(({ root }) => root));
  const isInArray = (key: StoreKey) =>
    foldersOf(key).some((folder) => roots.has(folder));
  if (!isInArray(prefix)) {
    for await (const key of store.list!(prefix, options)) {
      if (!isInArray(key)) yield key;
    }
  }
  let damage: DamageError | undefined;
  for (const array of translated) {
    try {
      for await (const key of array.list(options)) {
        if (key.startsWith(prefix)) yield key;
      }
    } catch (error) {
      if (!(error instanceof DamageError)) throw error;
      damage ??= error;
    }
  }
  // Thrown last, so that the keys of the other arrays are listed.
  if (damage !== undefined) throw damage;
}

/** Returns the translated arrays that have keys with a prefix. */
async function arraysWithin(
  store: Store,
  arrays: TranslatedArrays,
  prefix: StoreKey,
  options: StoreOptions | undefined,
): Promise<TranslatedArray[]> {
  const found: TranslatedArray[] = [];
  for (const root of foldersOf(prefix)) {
    const array = await arrayAt(arrays, root);
    if (array !== undefined) return [array]; // Arrays hold no nodes.
  }
  for await (const key of store.list!(prefix, options)) {
    if (!key.endsWith(DOCUMENT)) continue;
    const array = await arrayAt(arrays, key.slice(0, -DOCUMENT.length));
    if (array !== undefined) found.push(array);
  }
  return found;
}

/**
 * Returns the translated array at a root. An array with metadata that is not
 * understood is listed as it is stored.
 */
async function arrayAt(
  arrays: TranslatedArrays,
  root: string,
): Promise<TranslatedArray | undefined> {
  try {
    return await arrays.at(root);
  } catch (error) {
    if (error instanceof MetadataError) return undefined;
    throw error;
  }
}

/** Returns all folders above a key or prefix: "", "/a" and "/a/b" for "/a/b/c". */
function foldersOf(prefix: StoreKey): string[] {
  const names = prefix.split("/");
  return names.slice(1).map((_, i) => names.slice(0, i + 1).join("/"));
}
