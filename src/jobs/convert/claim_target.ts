import { ZipStore } from "../../zip/mod.ts";
import { describe, sentence } from "../../errors/mod.ts";
import { digestOf, isSameBytes } from "../../runtime/mod.ts";
import {
  assertWritable,
  describeStore,
  recover,
  remove,
  rootOf,
  type StoreKey,
  type StoreOptions,
  write,
} from "../../stores/mod.ts";
import {
  describePlace,
  documentKey,
  type Place,
  readNodeDocument,
} from "../../hierarchy/mod.ts";
import type { ConvertOptions } from "./convert_options.ts";
import type { ConvertPlan } from "./convert_plan.ts";
import {
  earlierDocuments,
  isDocument,
  keysIn,
  ownDocuments,
} from "./earlier_files.ts";
import {
  createMarker,
  inPlaceError,
  markerKey,
  newMarker,
  readMarker,
  setMarker,
  type UnfinishedMarker,
} from "./unfinished_marker.ts";

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
    assertListing(target);
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
  await recoverTarget(target, options);
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

/** Throws if the target lies in the source, or the source in the target, as far as the stores show it. */
export async function assertApart(source: Place, target: Place): Promise<void> {
  const [from, to] = source.store === target.store
    ? [source.root, target.root]
    : await Promise.all([source, target].map(realFolder));
  if (from === undefined || to === undefined) return;
  if (from === to) throw ontoItselfError(source);
  const [one, other] = [from, to].map((path) => path.replace(/[\\/]?$/, "/"));
  if (!one!.startsWith(other!) && !other!.startsWith(one!)) return;
  throw inOneAnotherError(source, target);
}

/** Throws if the listing of the source has the marker of this run, so that the target lies in the source. */
export async function assertTargetOutside(
  { source, target }: ConvertPlan,
  markers: readonly string[],
  { marker }: Claim,
  options: StoreOptions,
): Promise<void> {
  if (marker === undefined) return;
  for (const key of markers) {
    const root = key.slice(0, key.lastIndexOf("/")) as Place["root"];
    const place = { store: source.store, root };
    const found = await readMarker(place, options);
    if (found?.run === marker.run) throw inOneAnotherError(source, target);
  }
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

/** Finishes the writes of killed programs, in stores that can. */
async function recoverTarget(
  { store, root }: Place,
  { signal }: StoreOptions,
): Promise<void> {
  if (typeof (store as { recover?: unknown }).recover !== "function") return;
  await recover(store, { path: root.slice(1), ...signal && { signal } });
}

function assertListing(target: Place): void {
  if (typeof target.store.list === "function") return;
  throw new TypeError(
    `Cannot overwrite ${
      describePlace(target)
    }: the store has no "list" method, so that what is there cannot be found`,
  );
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

/** The real path of the folder of a place; `undefined` in stores other than file stores. */
async function realFolder({ store, root }: Place): Promise<string | undefined> {
  return await rootOf(store)?.root.realFolder(root);
}

function ontoItselfError(place: Place): RangeError {
  const canChange = rootOf(place.store) !== undefined;
  return new RangeError(
    `Cannot convert ${
      describePlace(place)
    } onto itself; expected another target${
      canChange ? ", or a conversion in place" : ""
    }`,
  );
}

function inOneAnotherError(source: Place, target: Place): RangeError {
  return new RangeError(
    `Cannot convert ${describePlace(source)} to ${
      describePlace(target)
    }, since they lie in one another; expected a target outside of the source`,
  );
}
