import { readDocument } from "../arrays/mod.ts";
import { inDocument, MetadataError } from "../errors/mod.ts";
import {
  changeNodes,
  changeZarrJson,
  hasNonFinite,
  isArrayDocument,
  isV2Document,
  nodePaths,
  parseExactZarrJson,
  parseZarrJson,
  showZarrJson,
  v2Folders,
  withNumbers,
  withoutV2Nodes,
} from "../metadata/mod.ts";
import { runConcurrently } from "../runtime/mod.ts";
import {
  assertStoreKey,
  describeStore,
  keyProblem,
  readSize,
  type Store,
  type StoreKey,
  type StoreOptions,
  write,
} from "../stores/mod.ts";
import type { TranslatedArrays, Translation } from "./translated_arrays.ts";

const DOCUMENT = "/zarr.json";

/** The number of nodes whose `zarr.json` is looked for at the same time. */
const AT_ONCE = 16;

/** A store, how its nodes are changed, and its arrays that are shown in another form. */
export interface View {
  readonly store: Store;
  readonly translation: Translation;
  readonly arrays: TranslatedArrays;
}

/** Reads a document of a view, also one of Zarr v2, and converts it to the one that is shown. */
export async function readViewDocument(
  { store, translation, arrays }: View,
  key: StoreKey,
  options: StoreOptions | undefined,
): Promise<Uint8Array | undefined> {
  if (isV2Document(key)) return await readV2Document(store, key, options);
  const { changes } = arrays;
  const bytes = await readDocument(store, key, options);
  const isLatest = arrays.changes === changes;
  if (isLatest && bytes === undefined) arrays.delete(rootOf(key));
  const show = (document: unknown) => {
    if (isLatest) {
      // The chunks of the array need no second read.
      if (isArrayDocument(document)) arrays.cacheDocument(rootOf(key), bytes!);
      else arrays.delete(rootOf(key));
    }
    translation.check?.(withNumbers(document));
    return changeNodes(
      document,
      (node, path) => shownNode(translation, node, path),
    );
  };
  return bytes &&
    inDocument(key, describeStore(store), () => showZarrJson(bytes, show));
}

/** Converts the document of a node; `undefined` for one in consolidated metadata that is not understood, so that the node's own document is read. */
function shownNode(
  translation: Translation,
  node: unknown,
  path: string,
): unknown {
  try {
    if (path !== "") translation.check?.(withNumbers(node));
  } catch (error) {
    if (error instanceof MetadataError) return undefined;
    throw error;
  }
  return translation.toShown(node);
}

/** Whether a key is that of a document, `…/zarr.json`. */
export function isDocument(key: StoreKey): boolean {
  assertStoreKey(key);
  return key.endsWith(DOCUMENT);
}

/** Whether a key is that of a document of Zarr v3 or v2. */
export function isAnyDocument(key: StoreKey): boolean {
  return isDocument(key) || isV2Document(key);
}

/** Returns the root of a document's node, without a last `/`. */
export function rootOf(key: StoreKey): string {
  return key.slice(0, key.lastIndexOf("/"));
}

/** Converts a document of a view to the one that is stored, and writes it. */
export async function writeViewDocument(
  { store, translation, arrays }: View,
  key: StoreKey,
  bytes: Uint8Array,
  options: StoreOptions | undefined,
): Promise<void> {
  options?.signal?.throwIfAborted();
  const storeName = describeStore(store);
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

/**
 * Reads a document of Zarr v2 as readers of JSON can read it; `undefined` for one beside a
 * `zarr.json`. Consolidated metadata is read without the nodes that have a `zarr.json`.
 */
async function readV2Document(
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
    await runConcurrently([...v2Folders(bytes)], AT_ONCE, async (folder) => {
      const beside: StoreKey = `${root}${folder}.zarray`;
      if (await isBesideDocument(store, beside, options)) hidden.add(folder);
    });
    const shown = withoutV2Nodes(bytes, (folder) => hidden.has(folder));
    return hasNonFinite(shown)
      ? showZarrJson(shown, (document) => document)
      : shown;
  } catch (error) {
    if (error instanceof MetadataError) return bytes; // Bytes that are not JSON are shown as they are stored.
    throw error;
  }
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
