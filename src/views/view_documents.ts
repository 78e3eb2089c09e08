import { hasDocument, readDocument } from "../arrays/mod.ts";
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
  describeStore,
  keyProblem,
  type Store,
  type StoreKey,
  type StoreOptions,
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
  view: View,
  key: StoreKey,
  options: StoreOptions | undefined,
): Promise<Uint8Array | undefined> {
  const { store, arrays } = view;
  if (isV2Document(key)) return await readV2Document(store, key, options);
  const { changes } = arrays;
  const bytes = await readDocument(store, key, options);
  const root = rootOf(key);
  const isLatest = arrays.changes === changes;
  if (bytes === undefined) {
    if (isLatest) arrays.delete(root);
    return undefined;
  }
  return shownDocument(view, key, bytes, (document) => {
    if (!isLatest) return;
    // The chunks of the array need no second read.
    if (isArrayDocument(document)) arrays.cacheDocument(root, bytes);
    else arrays.delete(root);
  });
}

/**
 * Converts a stored document to the one that is shown.
 *
 * @param note Called with the stored document.
 */
export function shownDocument(
  { store, translation }: View,
  key: StoreKey,
  bytes: Uint8Array,
  note?: (document: unknown) => void,
): Uint8Array {
  const show = (document: unknown) => {
    note?.(document);
    translation.check?.(withNumbers(document));
    return changeNodes(
      document,
      (node, path) => shownNode(translation, node, path),
    );
  };
  return inDocument(key, describeStore(store), () => showZarrJson(bytes, show));
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

/** The key of the `zarr.json` beside a document of Zarr v2. */
export function keyBeside(key: StoreKey): StoreKey {
  return `${rootOf(key) as StoreKey}${DOCUMENT}`;
}

/**
 * Converts a document of a view to the one that is stored.
 *
 * @param stored The document that it replaces.
 */
export async function storedDocument(
  { store, translation }: View,
  key: StoreKey,
  bytes: Uint8Array,
  stored: Uint8Array | undefined,
  options: StoreOptions | undefined,
): Promise<Uint8Array> {
  const storeName = describeStore(store);
  const document = inDocument(key, storeName, () => parseZarrJson(bytes));
  const nodes = new Map<string, unknown>();
  for (const path of nodePaths(document)) {
    const below = path === "" ? stored : await documentBelow(
      store,
      `${rootOf(key)}/${path}${DOCUMENT}`,
      options,
    );
    nodes.set(path, parsedOrNothing(below));
  }
  const toStored = (node: unknown, path: string) =>
    translation.toStored(node, nodes.get(path));
  return inDocument(
    key,
    storeName,
    () => changeZarrJson(bytes, (document) => changeNodes(document, toStored)),
  );
}

/** Reads the document of a node below a group; `undefined` also if no node can be there. */
async function documentBelow(
  store: Store,
  key: string,
  options: StoreOptions | undefined,
): Promise<Uint8Array | undefined> {
  return keyProblem(key.slice(1)) === undefined
    ? await readDocument(store, key as StoreKey, options)
    : undefined;
}

/** Parses a stored document; returns `undefined` for one that is not valid, which the write repairs. */
function parsedOrNothing(bytes: Uint8Array | undefined): unknown {
  try {
    return bytes && parseExactZarrJson(bytes);
  } catch {
    return undefined;
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
  const isShown = bytes !== undefined &&
    !await hasDocument(store, keyBeside(key), options);
  if (!isShown) return undefined;
  try {
    if (!key.endsWith("/.zmetadata")) {
      return showZarrJson(bytes, (document) => document);
    }
    const root = rootOf(key) as StoreKey;
    const hidden = new Set<string>();
    await runConcurrently([...v2Folders(bytes)], AT_ONCE, async (folder) => {
      const beside: StoreKey = `${root}/${folder}zarr.json`;
      if (await hasDocument(store, beside, options)) hidden.add(folder);
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
