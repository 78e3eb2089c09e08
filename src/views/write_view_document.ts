import { readDocument } from "../arrays/read_document.ts";
import { loadEncodings } from "../chunk_key_encoding/load_encodings.ts";
import { inDocument } from "../metadata/metadata_error.ts";
import { changeNodes, nodePaths } from "../metadata/node_documents.ts";
import { changeZarrJson } from "../metadata/format_zarr_json.ts";
import { parseExactZarrJson, parseZarrJson } from "../metadata/zarr_json.ts";
import { write } from "../stores/capabilities.ts";
import { describeStore } from "../stores/describe_store.ts";
import type { Store, StoreKey, StoreOptions } from "../stores/store.ts";
import { keyProblem } from "../stores/store_key.ts";
import type { TranslatedArrays } from "./translated_arrays.ts";
import type { Translation } from "./translation.ts";
import { rootOf } from "./view_documents.ts";

/** Converts a document of a view to the one that is stored, and writes it. */
export async function writeViewDocument(
  { store, translation, arrays }: {
    readonly store: Store;
    readonly translation: Translation;
    readonly arrays: TranslatedArrays;
  },
  key: StoreKey,
  bytes: Uint8Array,
  options: StoreOptions | undefined,
): Promise<void> {
  options?.signal?.throwIfAborted();
  const storeName = describeStore(store);
  await loadEncodings(bytes);
  const document = inDocument(
    key,
    storeName,
    () => parseZarrJson(bytes),
  );
  const stored = new Map<string, unknown>();
  for (const path of nodePaths(document)) {
    stored.set(path, await storedDocument(store, rootOf(key), path, options));
  }
  const toStored = (node: unknown, path: string) =>
    translation.toStored(node, stored.get(path));
  const value = inDocument(
    key,
    storeName,
    () => changeZarrJson(bytes, (document) => changeNodes(document, toStored)),
  );
  try {
    await write(store, key, value, options);
  } finally {
    arrays.invalidate(rootOf(key));
  }
}

/** Reads the stored document of a node; returns `undefined` for a missing or invalid one. */
async function storedDocument(
  store: Store,
  root: string,
  path: string,
  options: StoreOptions | undefined,
): Promise<unknown> {
  const key = `${path === "" ? root : `${root}/${path}`}/zarr.json`;
  if (keyProblem(key.slice(1)) !== undefined) return undefined;
  const bytes = await readDocument(store, key as StoreKey, options);
  try {
    return bytes && parseExactZarrJson(bytes);
  } catch {
    return undefined; // The write repairs an invalid document.
  }
}
