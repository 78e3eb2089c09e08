import { hasDocument, readDocument } from "../arrays/mod.ts";
import {
  BOOLEAN,
  checkOptions,
  inDocument,
  MetadataError,
  sentence,
} from "../errors/mod.ts";
import {
  checkV2Attributes,
  convertV2Array,
  convertV2Consolidated,
  convertV2Group,
  type ConvertV2Options,
  formatZarrJson,
  isV2Document,
  type Members,
  omeAxes,
  parseExactZarrJson,
  showZarrJson,
  withoutConsolidated,
} from "../metadata/mod.ts";
import { runConcurrently } from "../runtime/mod.ts";
import {
  assertStore,
  type Backend,
  backendOf,
  describeStore,
  keyProblem,
  type Store,
  type StoreKey,
  storeOf,
  type StoreOptions,
} from "../stores/mod.ts";
import {
  isAnyDocument,
  isDocument,
  type PlainStore,
  rootOf,
} from "./plain_view.ts";
import { documentBackend, viewBackend } from "./view_backend.ts";

/**
 * Shows the nodes of a store that have only documents of Zarr v2 as nodes of Zarr v3: a
 * `zarr.json` is composed when it is read, and the documents of Zarr v2 are hidden. The
 * chunks keep their keys, which the chunk key encoding `v2` gives. Nodes with a `zarr.json`
 * stay as they are.
 *
 * - The order `"F"` becomes the codec `transpose`, byte orders go to the codec `bytes`, and
 *   filters and compressors become the codecs that zarr-python has for them in Zarr v3, such
 *   as `numcodecs.delta`.
 * - The attribute `_ARRAY_DIMENSIONS` of xarray becomes `dimension_names`, and the fill value
 *   of such an array the attribute `_FillValue`, since xarray takes the fill value for missing
 *   elements in Zarr v2 alone. Other attributes stay as they are, but for those of groups of
 *   OME-Zarr 0.4, which become those of 0.5.
 * - The `.zmetadata` of a group becomes consolidated metadata, so that the nodes are also
 *   found in stores that cannot list.
 * - Chunks are read as they are stored, and writes and deletions of chunks are passed on.
 *
 * @param store Any store.
 * @param options `fillValueAttribute`: whether arrays of xarray get the attribute
 * `_FillValue`; `true` by default.
 * @returns The view. Reading the `zarr.json` of a node rejects with a
 * {@linkcode MetadataError} that names the member of `.zarray` if Zarr v3 cannot represent the
 * node. Writing or deleting documents of nodes of Zarr v2 is a `RangeError`.
 * @throws {TypeError} If `store` is not a store, or an option is unknown or of a wrong type.
 *
 * Source: https://zarr-specs.readthedocs.io/en/latest/v2/v2.0.html and
 * https://zarr-specs.readthedocs.io/en/latest/v3/chunk-key-encodings/v2/index.html
 *
 * @example
 * ```ts
 * import { MemoryStore, openArrayChunks, v2View } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const array = {
 *   zarr_format: 2,
 *   shape: [4, 4],
 *   chunks: [2, 4],
 *   dtype: ">u2",
 *   compressor: { id: "zlib", level: 9 },
 *   filters: null,
 *   fill_value: 0,
 *   order: "C",
 * };
 * const store = new MemoryStore([
 *   ["/depth/.zarray", new TextEncoder().encode(JSON.stringify(array))],
 *   ["/depth/1.0", new Uint8Array(20)],
 * ]);
 *
 * const view = v2View(store);
 * const chunks = await openArrayChunks(view, "depth");
 * assertEquals(chunks.metadata.codecs, [
 *   { name: "bytes", configuration: { endian: "big" } },
 *   { name: "numcodecs.zlib", configuration: { level: 9 } },
 * ]);
 * assertEquals(await chunks.size([1, 0]), 20);
 * assertEquals((await Array.fromAsync(view.list())).sort(), [
 *   "/depth/1.0",
 *   "/depth/zarr.json",
 * ]);
 * ```
 */
export function v2View<S extends Store>(
  store: S,
  options: ConvertV2Options = {},
): PlainStore<S> {
  assertStore(store);
  checkOptions(options, { fillValueAttribute: BOOLEAN }, "v2View");
  const below = backendOf(store);
  const documents = documentBackend(store, below, {
    show: (key, own, storeOptions) =>
      shownDocument(store, key, own, storeOptions, options),
    toStored: (_, bytes) => Promise.resolve(bytes),
    assertChangeable: (key, options) => assertChangeable(store, key, options),
  });
  const view = viewBackend(below, {
    placeOf: (key) => ({
      backend: isAnyDocument(key) ? documents : below,
      key,
    }),
    list: (prefix, options) => list(store, below, prefix, options),
  });
  const toString = () => `v2View(${describeStore(store)})`;
  return storeOf(view, toString) as Store as PlainStore<S>;
}

const DOCUMENT = "/zarr.json";

/** Returns a document as the view shows it; `undefined` for all documents of Zarr v2. */
async function shownDocument(
  store: Store,
  key: StoreKey,
  own: Uint8Array | undefined,
  options: StoreOptions | undefined,
  settings: ComposeSettings,
): Promise<Uint8Array | undefined> {
  if (isV2Document(key)) return undefined;
  if (own !== undefined) return own;
  const root = rootOf(key);
  const composed = await composeV2Document(store, root, options, settings);
  // Readers of JSON cannot read NaN, which attributes may hold.
  return composed && showZarrJson(composed.bytes);
}

/** A document that was composed of documents of Zarr v2. */
export interface ComposedDocument {
  /** The document with exact numbers, and with `NaN` in attributes as it was written. */
  readonly bytes: Uint8Array;
  /** The keys of the documents of Zarr v2, `.zarray` or `.zgroup` first. */
  readonly keys: readonly StoreKey[];
  /** Whether xarray finds missing elements in Zarr v2, and not in this document. */
  readonly isMasked: boolean;
}

/** How {@linkcode composeV2Document} composes a document. */
interface ComposeSettings extends ConvertV2Options {
  /**
   * The documents of the nodes below a group, by path, for its consolidated metadata, if it has
   * any. Default: those of its `.zmetadata`.
   */
  readonly nodes?: ReadonlyMap<string, unknown> | undefined;
}

/**
 * Composes the `zarr.json` of a node of Zarr v2.
 *
 * @param root The prefix of the node's keys, without a last `/`.
 * @returns `undefined` if there is no node of Zarr v2.
 * @throws {MetadataError} If the node is not valid, or Zarr v3 cannot represent it.
 */
export async function composeV2Document(
  store: Store,
  root: "" | StoreKey,
  options: StoreOptions | undefined,
  { nodes, ...settings }: ComposeSettings = {},
): Promise<ComposedDocument | undefined> {
  const keys: StoreKey[] = [];
  const storeName = describeStore(store);
  /** Reads a document of Zarr v2, and converts it. */
  const take = async <T>(
    name: string,
    convert: (document: unknown) => T,
  ): Promise<T | undefined> => {
    const key: StoreKey = `${root as StoreKey}/${name}`;
    const bytes = await readDocument(store, key, options);
    if (bytes === undefined) return undefined;
    keys.push(key);
    return inDocument(key, storeName, () => convert(parseExactZarrJson(bytes)));
  };
  // Both documents are requested at the same time, since a request may take long.
  const same = (document: unknown) => ({ document });
  const [array, group] = await Promise.all([
    take(".zarray", same),
    take(".zgroup", same),
  ]);
  if (array === undefined && group === undefined) return undefined;
  const [attributes = {}, names] = await Promise.all([
    take(".zattrs", checkV2Attributes),
    array && axesOf(store, root, options),
  ]);
  const kind = array ? ".zarray" : ".zgroup";
  let composed: Members;
  let isMasked = false;
  if (array !== undefined) {
    composed = inDocument(`${root}/${kind}`, storeName, () => {
      const converted = convertV2Array(array.document, attributes);
      const isLevel = names?.length === (converted.shape as unknown[]).length;
      const usual = { ...isLevel && { dimension_names: names }, ...converted };
      if (settings.fillValueAttribute !== false) return usual;
      isMasked = converted.attributes !== attributes;
      return { ...usual, attributes };
    });
  } else {
    const found = await take(
      ".zmetadata",
      (document) => convertV2Consolidated(document, settings),
    );
    const consolidated = found &&
      (nodes ?? await withOwnDocuments(store, root, found, options));
    composed = inDocument(
      `${root}/${kind}`,
      storeName,
      () => convertV2Group(root, group!.document, attributes, consolidated),
    );
  }
  return { bytes: formatZarrJson(composed), keys, isMasked };
}

/** The axes of an array that is a level of OME-Zarr 0.4, as the group around it has them. */
async function axesOf(
  store: Store,
  root: "" | StoreKey,
  options: StoreOptions | undefined,
): Promise<readonly string[] | undefined> {
  if (root === "") return undefined;
  const end = root.lastIndexOf("/");
  const key = `${root.slice(0, end)}/.zattrs` as StoreKey;
  try {
    const bytes = await readDocument(store, key, options);
    const group = checkV2Attributes(bytes && parseExactZarrJson(bytes));
    return omeAxes(group, root.slice(end + 1));
  } catch (error) {
    // Damage of the group is reported where the group is read.
    if (error instanceof MetadataError) return undefined;
    throw error;
  }
}

/** The number of nodes whose `zarr.json` is looked for at the same time. */
const AT_ONCE = 16;

/**
 * Puts the documents of nodes with a `zarr.json` in place of those that were composed of
 * consolidated metadata of Zarr v2, which may describe earlier keys of the chunks.
 */
async function withOwnDocuments(
  store: Store,
  root: "" | StoreKey,
  nodes: ReadonlyMap<string, unknown>,
  options: StoreOptions | undefined,
): Promise<Map<string, unknown>> {
  const documents = new Map(nodes);
  await runConcurrently(nodes.keys(), AT_ONCE, async (path, signal) => {
    const key = `${root}/${path}${DOCUMENT}`;
    if (keyProblem(key.slice(1)) !== undefined) {
      return void documents.delete(path);
    }
    const bytes = await readDocument(store, key as StoreKey, { signal });
    if (bytes === undefined) return;
    try {
      documents.set(path, withoutConsolidated(parseExactZarrJson(bytes)));
    } catch (error) {
      if (!(error instanceof MetadataError)) throw error;
      documents.delete(path); // The node's own document is read, and refused.
    }
  }, options?.signal);
  return documents;
}

/** Lists a store: one `zarr.json` for each node of Zarr v2, and no documents of Zarr v2. */
async function* list(
  store: Store,
  below: Backend,
  prefix: StoreKey,
  options: StoreOptions | undefined,
): AsyncGenerator<StoreKey> {
  const ownFolder = rootOf(prefix);
  const isOwn = prefix !== `${ownFolder}/` &&
    `${ownFolder}${DOCUMENT}`.startsWith(prefix);
  // No document of Zarr v2 may begin with this prefix, so the listing below does not find the node.
  if (isOwn && await v2DocumentOf(store, ownFolder, options)) {
    yield `${ownFolder as StoreKey}${DOCUMENT}`;
  }
  for await (const key of below.list!(prefix, options)) {
    if (!isV2Document(key)) yield key;
    else if (/\.z(?:array|group)$/.test(key)) {
      const folder = rootOf(key);
      const document: StoreKey = `${folder as StoreKey}${DOCUMENT}`;
      const isShown = document.startsWith(prefix) &&
        await v2DocumentOf(store, folder, options) === key;
      if (isShown) yield document;
    }
  }
}

/** The document that makes a folder a node of Zarr v2; `undefined` for other folders, and those with a `zarr.json`. */
async function v2DocumentOf(
  store: Store,
  folder: string,
  options: StoreOptions | undefined,
): Promise<StoreKey | undefined> {
  // A node with both is an array.
  for (const name of [DOCUMENT, "/.zarray", "/.zgroup"]) {
    const key = `${folder}${name}` as StoreKey;
    if (!await hasDocument(store, key, options)) continue;
    return name === DOCUMENT ? undefined : key;
  }
}

/** Refuses to change the documents of a node of Zarr v2. */
async function assertChangeable(
  store: Store,
  key: StoreKey,
  options: StoreOptions | undefined,
): Promise<void> {
  const isOfV2 = isV2Document(key) ||
    isDocument(key) && await v2DocumentOf(store, rootOf(key), options);
  if (!isOfV2) return;
  throw new RangeError(
    sentence`Cannot change ${key}, a document of a Zarr v2 node, through a view that shows the node as Zarr v3; migrate gives nodes a zarr.json`,
  );
}
