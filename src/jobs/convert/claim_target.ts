import { ZipStore } from "../../zip/mod.ts";
import { describe, MetadataError, sentence } from "../../errors/mod.ts";
import { digestOf, isSameBytes } from "../../runtime/mod.ts";
import {
  assertWritable,
  backendOf,
  canRecover,
  describeStore,
  recover,
  remove,
  type StoreKey,
  type StoreOptions,
  write,
} from "../../stores/mod.ts";
import {
  ArrayKeys,
  describePlace,
  documentKey,
  listHierarchy,
  type ListingEvents,
  MARKER,
  type Place,
  readNodeDocument,
} from "../../hierarchy/mod.ts";
import type { ConvertOptions } from "./convert_options.ts";
import type { ConvertPlan } from "./convert_plan.ts";
import { keysOfTarget, type ListedSource } from "./source_files.ts";
import {
  createMarker,
  type Documents,
  inPlaceError,
  markerKey,
  newMarker,
  readMarker,
  setMarker,
  type UnfinishedMarker,
} from "./unfinished_marker.ts";
import { isAdopted } from "../../adopt/mod.ts";
import { parseArray, readDocument } from "../../arrays/mod.ts";
import {
  isArrayDocument,
  isGroupDocument,
  isMembers,
  type Members,
  parseZarrJson,
} from "../../metadata/mod.ts";

/** The claim of a run on the target. */
export interface Claim {
  /**
   * The marker of the unfinished conversion; `undefined` if the target is finished, and in a
   * dry run.
   */
  readonly marker: UnfinishedMarker | undefined;
  /** Restores what was at the key of the marker, before anything was copied. */
  undo(): Promise<void>;
}

/**
 * Claims the target: stores a marker, from which other programs know that the target is not
 * finished. A dry run stores nothing.
 *
 * @throws {Error} If something is at the target, unless an option says what to do with it.
 */
export async function claimTarget(
  plan: ConvertPlan,
  options: ConvertOptions,
): Promise<Claim> {
  const { target } = plan;
  const { overwrite, resume, share, dryRun } = options;
  assertTarget(target);
  const digest = await planDigest(plan);
  const found = await readMarker(target, options);
  if (found?.inPlace) throw inPlaceError(target);
  let earlier = found?.earlier;
  if (overwrite) {
    if (typeof target.store.list !== "function") throw unlistedError(target);
    earlier = await earlierDocuments(plan, found, options);
  } else if (found !== undefined) {
    if (!resume && !share) throw unfinishedError(target);
    assertSamePlan(target, found, digest, share);
  } else if (await isStored(target, options)) {
    if (!resume) throw existsError(target, "a node is there already");
    await assertSameDocuments(plan, options);
    return NO_CLAIM;
  } else await assertEmpty(target, options);
  if (dryRun) return NO_CLAIM;
  if (found !== undefined && share) return { ...NO_CLAIM, marker: found };
  // A run that was killed may have left temporary files, also of the marker.
  if (canRecover(target.store)) {
    const { signal } = options;
    const path = target.root.slice(1);
    await recover(target.store, { path, ...signal && { signal } });
  }
  const marker = newMarker(digest, { own: ownDocuments(plan), earlier });
  const undo = () => setMarker(target, found, {});
  if (found !== undefined || overwrite) {
    await setMarker(target, marker, {});
    return { marker, undo };
  }
  if (!await createMarker(target, marker, options)) {
    const other = await readMarker(target, options);
    if (!share || other?.plan !== digest) throw unfinishedError(target);
    return { ...NO_CLAIM, marker: other };
  }
  if (!await isStored(target, options)) return { marker, undo };
  // Another program has finished since this program looked for a node.
  await undo();
  throw existsError(target, "a node is there already");
}

/**
 * Removes the documents of the earlier nodes at the target, so that none of them opens while
 * its chunks are replaced. The chunks stay until then.
 *
 * @throws {RangeError} If the source changes with the target, as one does that is read over
 * HTTP from the same folder. The documents are put back.
 */
export async function removeEarlierDocuments(
  { source, target, nodes }: ConvertPlan,
  { undo }: Claim,
  options: StoreOptions,
): Promise<void> {
  const removed: [StoreKey, Uint8Array][] = [];
  try {
    for await (const key of keysIn(target, options)) {
      const bytes = isDocument(key) && await target.store.get(key, options);
      if (!bytes) continue;
      removed.push([key, bytes]);
      await remove(target.store, key, options);
    }
    for (const { path, bytes } of removed.length > 0 ? nodes : []) {
      const left = await readNodeDocument(source, path, false, options);
      if (!isSameBytes(left?.bytes, bytes)) {
        throw inOneAnotherError(source, target);
      }
    }
  } catch (error) {
    try {
      for (const [key, bytes] of removed) await write(target.store, key, bytes);
      await undo();
    } catch {
      // The marker stays, by which the conversion can be continued.
    }
    throw error;
  }
}

/**
 * Removes the chunks of the target that the source does not have, or not any more, and the
 * values of earlier nodes. Targets that cannot list are left as they are.
 */
export async function removeLeftovers(
  plan: ConvertPlan,
  { files }: ListedSource,
  { earlier }: UnfinishedMarker,
  options: StoreOptions,
): Promise<void> {
  const { target, nodes, arrays } = plan;
  if (typeof target.store.list !== "function") return;
  const byPath = new Map(arrays.map((array) => [array.path, array]));
  const isEarlier = keysOfDocuments(target, earlier ?? []);
  const written = new Set<string>(files.map((file) => target.root + file));
  const removeEarlier = async (key: StoreKey) => {
    if (earlier === undefined || written.has(key)) return;
    const file = relativeTo(target, key);
    const isStale = file !== MARKER &&
      (isEarlier(key) || await isCopy(plan, file, false, options));
    if (isStale) await remove(target.store, key, options);
  };
  const events: ListingEvents = {
    async chunk(path, coordinates) {
      const array = byPath.get(path)!;
      const isWritten = array.recoded
        ? array.recoded.mayMake(coordinates)
        : array.stored.has(coordinates);
      if (!isWritten) await array.target.delete(coordinates, options);
    },
    file: removeEarlier,
    stray: removeEarlier,
  };
  await listHierarchy(target, nodes, events, options, keysOfTarget(plan));
}

const NO_CLAIM: Claim = { marker: undefined, undo: () => Promise.resolve() };

function assertTarget({ store, root }: Place): void {
  assertWritable(store, documentKey({ store, root }, ""));
  if (typeof store.delete === "function") return;
  throw new TypeError(
    `Cannot convert to ${
      describeStore(store)
    }: the store has no "delete" method, which the file of an unfinished conversion needs`,
  );
}

/** Throws if there are files at the target. */
async function assertEmpty(
  target: Place,
  options: ConvertOptions,
): Promise<void> {
  for await (const key of keysIn(target, options)) {
    // Another share may just have begun.
    if (key === markerKey(target.root) && options.share) return;
    throw new Error(
      `Cannot convert to ${describePlace(target)}: there is ${
        describe(key)
      }, and no Zarr node; expected a place without files`,
    );
  }
}

/** Throws if an unfinished conversion is another one, or cannot be continued by a share. */
function assertSamePlan(
  target: Place,
  found: UnfinishedMarker,
  digest: string,
  share: ConvertOptions["share"],
): void {
  const isTorn = found.plan === "" && !share;
  if (found.plan !== digest && !isTorn) {
    throw new Error(
      `Cannot continue the conversion to ${
        describePlace(target)
      }: it was begun from another source or with another layout; expected the same options, or the option "overwrite"`,
    );
  }
  // One of several programs could remove chunks that another has written, as earlier contents.
  if (found.earlier && share) throw unfinishedError(target);
}

async function isStored(target: Place, options: StoreOptions) {
  const key = documentKey(target, "");
  return await target.store.get(key, options) !== undefined;
}

/** Throws if a finished target has other documents than this conversion writes. */
async function assertSameDocuments(
  { target, documents }: ConvertPlan,
  options: StoreOptions,
): Promise<void> {
  for (const [path, expected] of documents) {
    const found = await target.store.get(documentKey(target, path), options);
    if (isSameBytes(found, expected)) continue;
    throw existsError(
      target,
      sentence`the document ${
        documentKey(target, path)
      } is another one than this conversion writes`,
    );
  }
}

function unlistedError(target: Place): TypeError {
  return new TypeError(
    `Cannot overwrite ${
      describePlace(target)
    }: the store has no "list" method, so that what is there cannot be found`,
  );
}

function existsError(target: Place, what: string): Error {
  return new Error(
    `Cannot convert to ${
      describePlace(target)
    }: ${what}; expected a place without files, or the option "overwrite", which replaces that node`,
  );
}

function unfinishedError(target: Place): Error {
  return new Error(
    `Cannot convert to ${
      describePlace(target)
    }: a conversion to it is unfinished, or another program is at work on it; expected the option "resume" or "overwrite"`,
  );
}

/**
 * A digest of the documents of the source and of the target, which is the same in all
 * processes. Equal digests mean equal keys and parts of all chunks, and the same archive.
 */
async function planDigest(
  { source, nodes, documents, arrays }: ConvertPlan,
): Promise<string> {
  const texts: string[] = [];
  if (source.store instanceof ZipStore) {
    texts.push((await source.store.describe()).digest);
  }
  const decoder = new TextDecoder();
  for (const { path, bytes } of nodes) {
    texts.push(path, decoder.decode(bytes));
    texts.push(decoder.decode(documents.get(path)));
  }
  for (const { path, containerOf } of arrays) {
    if (containerOf) texts.push(`container of ${path}`);
  }
  return await digestOf(new TextEncoder().encode(JSON.stringify(texts)), 32);
}

/** The documents that make a folder a node. */
const DOCUMENTS = ["zarr.json", ".zarray", ".zgroup"];
/** The documents that may lie in the folder of a node. */
const IN_NODES = [...DOCUMENTS, ".zattrs", ".zmetadata"];
/** The number of files that an error names. */
const MOST_NAMED = 3;
const DECODER = new TextDecoder();

/** The documents that a conversion writes, by their keys below the target. */
function ownDocuments({ documents }: ConvertPlan): Documents {
  return Array.from(documents, ([path, bytes]) => [
    `${path && "/"}${path}/zarr.json` as StoreKey,
    DECODER.decode(bytes),
  ]);
}

/**
 * Finds the documents at a target whose files a conversion may replace and remove: those that
 * are stored, and those of unfinished conversions.
 *
 * @param found The marker of an unfinished conversion.
 * @throws {Error} If there are files of no node, which nothing could bring back, unless they
 * are copies of files of the source.
 */
async function earlierDocuments(
  plan: ConvertPlan,
  found: UnfinishedMarker | undefined,
  options: StoreOptions,
): Promise<Documents> {
  const { target } = plan;
  const stored: [StoreKey, string][] = [];
  const problems = new Map<StoreKey, string>();
  const take = async (key: StoreKey) => {
    if (!isDocument(key)) return;
    const text = await readText(target, key, problems, options);
    if (text !== undefined) stored.push([relativeTo(target, key), text]);
  };
  for (const name of DOCUMENTS) {
    await take(`${target.root as StoreKey}/${name}`);
  }
  const isNode = found !== undefined || stored.length > 0;
  // Other folders, such as a home folder, may hold so much that listing it takes long.
  if (isNode) {
    stored.length = 0;
    for await (const key of keysIn(target, options)) await take(key);
  }
  const earlier = [
    ...stored,
    ...found ? [...found.own ?? [], ...found.earlier ?? []] : [],
    ...found ? ownDocuments(plan) : [],
  ];
  const isKnown = keysOfDocuments(target, earlier);
  // A document that is not valid says why the files below it are not known.
  const foreign = new Set<StoreKey>(isNode ? [] : problems.keys());
  for await (const key of keysIn(target, options)) {
    if (isKnown(key)) continue;
    const file = relativeTo(target, key);
    if (await isCopy(plan, file, found !== undefined, options)) continue;
    foreign.add(file);
    if (!isNode && foreign.size > MOST_NAMED) break;
  }
  if (foreign.size === 0) return earlier;
  throw foreignFilesError(target, [...foreign], isNode, problems);
}

/** Returns a function that says whether a key is that of a document, or of a chunk or a part that a document describes. */
function keysOfDocuments(
  { root }: Place,
  documents: Documents,
): (key: StoreKey) => boolean {
  const arraysIn = new Map<string, ArrayKeys[]>();
  for (const [key, text] of documents) {
    const { folder, name } = split(root + key);
    const arrays = arraysIn.get(folder) ?? [];
    arraysIn.set(folder, arrays);
    const metadata = DOCUMENTS.includes(name) && arrayOf(name, text);
    if (metadata) arrays.push(new ArrayKeys(parseArray(metadata), folder));
  }
  const state = `${root}/.zarr-parts-unfinished/`;
  return (key) => {
    if (key === root + MARKER || key.startsWith(state)) return true;
    const { folder } = split(key);
    if (isDocument(key)) return arraysIn.has(folder);
    const chunk = key.replace(/\.zarr-parts-old$/, "") as StoreKey;
    for (let above = folder; above.length >= root.length;) {
      const arrays = arraysIn.get(above) ?? [];
      if (arrays.length > 0) {
        return arrays.some((each) =>
          each.isTaken(chunk) || each.isOutsideGrid(chunk)
        );
      }
      if (above === root) return false;
      above = split(above).folder;
    }
    return false;
  };
}

/** Whether a key has the name of a document of a node. */
function isDocument(key: StoreKey): boolean {
  return IN_NODES.includes(split(key).name);
}

/** The keys at a place; none in a store that cannot list. */
async function* keysIn(
  { store, root }: Place,
  options: StoreOptions,
): AsyncGenerator<StoreKey> {
  if (typeof store.list !== "function") return;
  yield* store.list(`${root}/` as StoreKey, options);
}

/** Reads a document; `undefined` if it is absent, or not valid, which adds a problem. */
async function readText(
  target: Place,
  key: StoreKey,
  problems: Map<StoreKey, string>,
  options: StoreOptions,
): Promise<string | undefined> {
  const { name } = split(key);
  try {
    const bytes = await readDocument(target.store, key, options);
    if (bytes === undefined) return undefined;
    const text = DECODER.decode(bytes);
    if (!DOCUMENTS.includes(name)) return text;
    const metadata = arrayOf(name, text);
    const { chunk: { shard } = {}, parts = [] } = metadata
      ? parseArray(metadata)
      : {};
    if (!shard || !isAdopted(parts, shard.layout)) return text;
    throw new MetadataError(
      "its chunks are adopted files, which may be the only copy",
    );
  } catch (error) {
    if (!(error instanceof MetadataError)) throw error;
    problems.set(relativeTo(target, key), error.problem);
    return undefined;
  }
}

/**
 * The metadata of an array, as far as it determines the keys of chunks; `undefined` for a group.
 *
 * @param name The name of the document.
 */
function arrayOf(name: string, text: string): Members | undefined {
  const document = parseZarrJson(new TextEncoder().encode(text));
  if (name === "zarr.json" && isGroupDocument(document)) return undefined;
  if (name === "zarr.json" && isArrayDocument(document)) return document;
  const isV2 = name !== "zarr.json" && isMembers(document) &&
    document.zarr_format === 2;
  if (!isV2) throw new MetadataError("it is no document of Zarr");
  if (name === ".zgroup") return undefined;
  const { shape, chunks, dimension_separator } = document;
  const configuration = { separator: dimension_separator ?? "." };
  return {
    ...{ zarr_format: 3, node_type: "array", shape, data_type: "uint8" },
    chunk_grid: { name: "regular", configuration: { chunk_shape: chunks } },
    chunk_key_encoding: { name: "v2", configuration },
    codecs: [{ name: "bytes" }],
  };
}

/**
 * Whether a file of the target is a copy of a file of the source.
 *
 * @param isUnfinished Whether the source may have changed since the file was copied.
 */
async function isCopy(
  { source, target }: ConvertPlan,
  file: StoreKey,
  isUnfinished: boolean,
  options: StoreOptions,
): Promise<boolean> {
  if (typeof source.store.list !== "function") return false;
  const [from, to] = [source, target].map(({ root }) =>
    `${root}${file}` as StoreKey
  ) as [StoreKey, StoreKey];
  const size = await backendOf(source.store).size(from, options)
    .catch(() => undefined);
  if (size === undefined) return false;
  if (isUnfinished) return true;
  if (await backendOf(target.store).size(to, options) !== size) return false;
  return isSameBytes(
    await backendOf(source.store).get(from, options),
    await backendOf(target.store).get(to, options) ?? new Uint8Array(),
  );
}

/** An error about files that nothing could bring back. */
function foreignFilesError(
  target: Place,
  foreign: readonly StoreKey[],
  isNode: boolean,
  problems: ReadonlyMap<StoreKey, string>,
): Error {
  const named = foreign
    .toSorted((a, b) => Number(problems.has(b)) - Number(problems.has(a)))
    .slice(0, MOST_NAMED)
    .map((key) => {
      const problem = problems.get(key);
      return problem ? `${describe(key)} (${problem})` : describe(key);
    });
  const more = foreign.length > named.length ? " and more" : "";
  const what = isNode
    ? "besides the files of Zarr, it holds"
    : "it is no Zarr node, and holds";
  return new Error(
    `Cannot overwrite ${describePlace(target)}: ${what} ${
      named.join(", ")
    }${more}; expected a Zarr node or an unfinished conversion, and no other files; move or remove them yourself, or choose another target`,
  );
}

function relativeTo({ root }: Place, key: StoreKey): StoreKey {
  return key.slice(root.length) as StoreKey;
}

function split(key: string): { folder: string; name: string } {
  const end = key.lastIndexOf("/");
  return { folder: key.slice(0, end), name: key.slice(end + 1) };
}

/** An error about a target in the source, or a source in the target. */
export function inOneAnotherError(source: Place, target: Place): RangeError {
  return new RangeError(
    `Cannot convert ${describePlace(source)} to ${
      describePlace(target)
    }, since they lie in one another; expected a target outside of the source`,
  );
}
