import type { StoreKey, StoreOptions } from "../store.ts";
import { DENO_FILES } from "./deno_files.ts";
import { rootOf } from "./store_roots.ts";

/**
 * A text that tells the file of a key from later versions of it; `undefined` if there is no
 * file, or the store is no file store.
 */
export async function fileStamp(
  store: object,
  key: StoreKey,
  options: StoreOptions,
): Promise<string | undefined> {
  const file = await rootOf(store)?.root.find(key, options);
  const state = file && await DENO_FILES.stat(file.path);
  return state && `${state.dev} ${state.ino} ${state.mtime} ${state.size}`;
}
