/**
 * The documents of Zarr v2 beside a `zarr.json`, which programs leave that migrate arrays to
 * Zarr v3. They say where chunks were before, so that readers of Zarr v2 would find none.
 */
import { MetadataError } from "../errors/mod.ts";
import {
  changeZarrJson,
  hasNonFinite,
  isMembers,
  showZarrJson,
} from "../metadata/mod.ts";
import { forEachAtOnce } from "../runtime/mod.ts";
import {
  readSize,
  type Store,
  type StoreKey,
  type StoreOptions,
} from "../stores/mod.ts";
import { readDocument } from "./open_array_chunks.ts";

/** The names of the documents of Zarr v2. */
export const V2_DOCUMENTS = [".zarray", ".zgroup", ".zattrs", ".zmetadata"];

const V2_DOCUMENT = /\/\.z(?:array|group|attrs|metadata)$/;

/** The number of nodes that are looked for at once. */
const AT_ONCE = 16;

/** Whether a key is that of a document of Zarr v2. */
export function isV2Document(key: string): boolean {
  return V2_DOCUMENT.test(key);
}

/** Whether a document of Zarr v2 lies beside a `zarr.json`. */
export async function isBesideDocument(
  store: Store,
  key: StoreKey,
  options: StoreOptions | undefined,
): Promise<boolean> {
  const document: StoreKey = `${key.slice(
    0,
    key.lastIndexOf("/"),
  ) as StoreKey}/zarr.json`;
  return await readSize(store, document, options) !== undefined;
}

/**
 * Reads a document of Zarr v2 as readers of JSON can read it; `undefined` for one beside a
 * `zarr.json`. Consolidated metadata is read without the nodes that have a `zarr.json`.
 */
export async function readV2Document(
  store: Store,
  key: StoreKey,
  options: StoreOptions | undefined,
): Promise<Uint8Array | undefined> {
  const bytes = await readDocument(store, key, options);
  if (bytes === undefined || await isBesideDocument(store, key, options)) {
    return undefined;
  }
  try {
    if (!key.endsWith("/.zmetadata")) {
      return showZarrJson(bytes, (document) => document);
    }
    const root = key.slice(0, -".zmetadata".length) as StoreKey;
    const hidden = new Set<string>();
    await forEachAtOnce([...v2Folders(bytes)], AT_ONCE, async (folder) => {
      const beside: StoreKey = `${root}${folder}.zarray`;
      if (await isBesideDocument(store, beside, options)) hidden.add(folder);
    });
    const shown = withoutV2Nodes(bytes, (folder) => hidden.has(folder));
    return hasNonFinite(shown)
      ? showZarrJson(shown, (document) => document)
      : shown;
  } catch (error) {
    if (error instanceof MetadataError) return bytes; // It is no JSON.
    throw error;
  }
}

/** The folders of the nodes in consolidated metadata of Zarr v2, such as `a/b/`. */
function v2Folders(bytes: Uint8Array): Set<string> {
  const folders = new Set<string>();
  withoutV2Nodes(bytes, (folder) => {
    folders.add(folder);
    return false;
  });
  return folders;
}

/**
 * Leaves nodes out of consolidated metadata of Zarr v2.
 *
 * @param isLeftOut Called with the folder of each node, such as `a/b/`.
 * @returns The same bytes if nothing changes.
 * @throws {MetadataError} If the document is not JSON.
 */
export function withoutV2Nodes(
  bytes: Uint8Array,
  isLeftOut: (folder: string) => boolean,
): Uint8Array {
  return changeZarrJson(bytes, (document) => {
    if (!isMembers(document) || !isMembers(document.metadata)) return document;
    const all = Object.entries(document.metadata);
    const left = all.filter(([name]) =>
      !isV2Document(`/${name}`) ||
      !isLeftOut(name.slice(0, name.lastIndexOf("/") + 1))
    );
    return left.length === all.length
      ? document
      : { ...document, metadata: Object.fromEntries(left) };
  });
}
