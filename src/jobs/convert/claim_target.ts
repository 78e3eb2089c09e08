import { describe } from "../../errors/mod.ts";
import { digestOf, isSameBytes } from "../../runtime/mod.ts";
import {
  assertWritable,
  describeStore,
  isSameFile,
  recover,
  remove,
  rootOf,
  type StoreOptions,
} from "../../stores/mod.ts";
import {
  describePlace,
  documentKey,
  type Place,
} from "../hierarchy/node_location.ts";
import type { ConvertOptions } from "./convert_options.ts";
import type { ConvertPlan } from "./convert_plan.ts";
import {
  assertRemovable,
  filesOf,
  isDocument,
  keysIn,
  knownKeys,
} from "./earlier_files.ts";
import {
  createMarker,
  inPlaceError,
  markerKey,
  newMarker,
  readMarker,
  removeMarker,
  replaceMarker,
  type UnfinishedMarker,
} from "./unfinished_marker.ts";

/** The claim of a run on the target. */
export interface Claim {
  /** The marker that the target is not finished; `undefined` if it is, and in a dry run. */
  readonly marker: UnfinishedMarker | undefined;
  /** Takes the claim back, before anything was copied. */
  undo(): Promise<void>;
}

/**
 * Refuses a target that is not ready for a conversion, or stores a marker that tells that
 * the target is not finished. A dry run stores nothing.
 *
 * @throws {Error} If something is at the target, unless an option says what to do with it.
 */
export async function claimTarget(
  plan: ConvertPlan,
  options: ConvertOptions,
): Promise<Claim> {
  const { target } = plan;
  assertTarget(target);
  const digest = await planDigest(plan);
  const found = await readMarker(target, options);
  if (found?.inPlace) throw inPlaceError(target);
  if (options.overwrite) return await overwrite(plan, found, digest, options);
  const goesOn = options.resume || options.share || options.finish;
  if (found !== undefined && goesOn) {
    return await goOn(plan, found, digest, options);
  }
  if (found !== undefined) throw unfinished(target);
  if (await isStored(target, options)) {
    if (!options.resume && !options.finish) {
      throw exists(target, "a node is there already");
    }
    await assertSameDocuments(plan, options);
    return NO_CLAIM;
  }
  if (options.finish) {
    throw new Error(
      `Cannot finish a conversion to ${
        describePlace(target)
      }: none was begun there`,
    );
  }
  return await begin(plan, digest, options);
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

/** Claims an empty target. */
async function begin(
  plan: ConvertPlan,
  digest: string,
  options: ConvertOptions,
): Promise<Claim> {
  const { target } = plan;
  const own = filesOf(plan);
  for await (const key of keysIn(target, options)) {
    // Another share may have begun meanwhile.
    if (key === markerKey(target.root) && options.share) break;
    throw new Error(
      `Cannot convert to ${describePlace(target)}: there is ${
        describe(key)
      }, and no Zarr node; expected a place without files`,
    );
  }
  if (options.dryRun) return NO_CLAIM;
  const marker = newMarker(digest, { own });
  if (await createMarker(target, marker, options)) {
    // Another program may have finished since this one looked.
    if (!await isStored(target, options)) {
      return { marker, undo: () => removeMarker(target, {}) };
    }
    await removeMarker(target, {});
    throw exists(target, "a node is there already");
  }
  const other = await readMarker(target, options);
  if (options.share && other?.plan === digest) {
    return { ...NO_CLAIM, marker: other };
  }
  throw unfinished(target);
}

/** Claims a target that is not finished. Shares leave the marker as it is, and any other run puts its own. */
async function goOn(
  plan: ConvertPlan,
  found: UnfinishedMarker,
  digest: string,
  options: ConvertOptions,
): Promise<Claim> {
  const { target } = plan;
  const { share, finish, signal } = options;
  const isTorn = found.plan === "" && !share && !finish;
  if (found.plan !== digest && !isTorn) {
    throw new Error(
      `Cannot continue the conversion to ${
        describePlace(target)
      }: it was begun from another source or with another layout; expected the same options, or the option "overwrite"`,
    );
  }
  // Several programs must not remove the earlier contents, and chunks of one another.
  if (found.earlier && (share || finish)) throw unfinished(target);
  if (options.dryRun) return NO_CLAIM;
  if (share) return { ...NO_CLAIM, marker: found };
  if (typeof (target.store as { recover?: unknown }).recover === "function") {
    const path = target.root.slice(1);
    await recover(target.store, { path, ...signal && { signal } });
  }
  if (finish) return { ...NO_CLAIM, marker: found };
  const { earlier } = found;
  const files = { own: filesOf(plan), earlier };
  return await replace(target, found, newMarker(digest, files));
}

/** Claims a target whose present content is removed later. */
async function overwrite(
  plan: ConvertPlan,
  found: UnfinishedMarker | undefined,
  digest: string,
  options: ConvertOptions,
): Promise<Claim> {
  const { target } = plan;
  if (typeof target.store.list !== "function") {
    throw new TypeError(
      `Cannot overwrite ${
        describePlace(target)
      }: the store has no "list" method, so that what is there cannot be found`,
    );
  }
  await assertSourceElsewhere(plan, options);
  const earlier = await assertRemovable(plan, found, options);
  if (options.dryRun) return NO_CLAIM;
  const files = { own: filesOf(plan), earlier };
  return await replace(target, found, newMarker(digest, files));
}

async function replace(
  target: Place,
  found: UnfinishedMarker | undefined,
  marker: UnfinishedMarker,
): Promise<Claim> {
  await replaceMarker(target, marker, {});
  return {
    marker,
    undo: () =>
      found === undefined
        ? removeMarker(target, {})
        : replaceMarker(target, found, {}),
  };
}

/** Removes the earlier files at the target: documents first, so that nothing opens that lacks chunks. */
export async function removeOld(
  target: Place,
  marker: UnfinishedMarker,
  options: ConvertOptions,
): Promise<void> {
  const { earlier, ...rest } = marker;
  const isKnown = knownKeys(target, earlier!);
  const { store, root } = target;
  for (const isNow of [isDocument, isKnown]) {
    for await (const key of keysIn(target, options)) {
      if (key === markerKey(root) || !isNow(key)) continue;
      await remove(store, key, options);
    }
  }
  await replaceMarker(target, rest, options);
}

/** Refuses to remove the source, which may lie in the target. */
async function assertSourceElsewhere(
  { source, target }: ConvertPlan,
  options: StoreOptions,
): Promise<void> {
  for await (const key of keysIn(target, options)) {
    if (!key.endsWith("/zarr.json")) continue;
    const document = { store: target.store, key };
    const root = { store: source.store, key: documentKey(source, "") };
    if (!await isSameFile(root, document, options)) continue;
    throw new RangeError(
      `Cannot overwrite ${describePlace(target)}: it holds the source, at ${
        describe(key)
      }`,
    );
  }
}

async function isStored(target: Place, options: StoreOptions) {
  const key = documentKey(target, "");
  return await target.store.get(key, options) !== undefined;
}

/** Refuses a finished target that was not made by this conversion. */
async function assertSameDocuments(
  { target, documents }: ConvertPlan,
  options: StoreOptions,
): Promise<void> {
  for (const [path, expected] of documents) {
    const found = await target.store.get(documentKey(target, path), options);
    if (found !== undefined && isSameBytes(found, expected)) continue;
    throw exists(
      target,
      `the document ${
        describe(documentKey(target, path))
      } is another one than this conversion writes`,
    );
  }
}

function exists(target: Place, what: string): Error {
  return new Error(
    `Cannot convert to ${
      describePlace(target)
    }: ${what}; expected a place without files, or the option "overwrite", which removes that node first`,
  );
}

function unfinished(target: Place): Error {
  return new Error(
    `Cannot convert to ${
      describePlace(target)
    }: a conversion to it is unfinished, or another program is at work on it; expected the option "resume" or "overwrite"`,
  );
}

/**
 * Identifies the documents of the source and of the target, in any process. Equal digests
 * mean equal keys and parts of all chunks.
 */
export async function planDigest(
  { nodes, documents, arrays }: ConvertPlan,
): Promise<string> {
  const texts: string[] = [];
  const decoder = new TextDecoder();
  for (const { path, bytes } of nodes) {
    texts.push(path, decoder.decode(bytes));
    texts.push(decoder.decode(documents.get(path)));
  }
  for (const { path, contain } of arrays) {
    if (contain) texts.push(`container of ${path}`);
  }
  return await digestOf(new TextEncoder().encode(JSON.stringify(texts)), 32);
}

/** Refuses a target in the source or the other way round, where the stores tell it. */
export async function assertApart(source: Place, target: Place): Promise<void> {
  const [from, to] = source.store === target.store
    ? [source.root, target.root]
    : await Promise.all([source, target].map(realFolder));
  if (from === undefined || to === undefined) return;
  if (from === to) throw ontoItself(source);
  const [one, other] = [from, to].map((path) => path.replace(/[\\/]?$/, "/"));
  if (!one!.startsWith(other!) && !other!.startsWith(one!)) return;
  throw inOneAnother(source, target);
}

/** The real path of a place in a file store. */
async function realFolder({ store, root }: Place): Promise<string | undefined> {
  return await rootOf(store)?.root.realFolder(root);
}

function ontoItself(place: Place): RangeError {
  const canChange = rootOf(place.store) !== undefined;
  return new RangeError(
    `Cannot convert ${
      describePlace(place)
    } onto itself; expected another target${
      canChange
        ? ", or convertInPlace, which changes the files where they are"
        : ""
    }`,
  );
}

function inOneAnother(source: Place, target: Place): RangeError {
  return new RangeError(
    `Cannot convert ${describePlace(source)} to ${
      describePlace(target)
    }, since they lie in one another; expected a target outside of the source`,
  );
}

/** Refuses a target that turns out to lie in the source: its marker is there. */
export async function assertTargetOutside(
  { source, target }: ConvertPlan,
  markers: readonly string[],
  { marker, undo }: Claim,
  options: StoreOptions,
): Promise<void> {
  if (marker === undefined) return;
  for (const key of markers) {
    const root = key.slice(0, key.lastIndexOf("/")) as Place["root"];
    const place = { store: source.store, root };
    const found = await readMarker(place, options);
    if (found?.run !== marker.run) continue;
    await undo();
    throw inOneAnother(source, target);
  }
}
