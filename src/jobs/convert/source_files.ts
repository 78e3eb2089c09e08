import { isInShare, parsedArrayOf, type Share } from "../../arrays/mod.ts";
import { describe, MetadataError } from "../../errors/mod.ts";
import {
  addHash,
  ArrayKeys,
  describePlace,
  keysLeftOut,
  listHierarchy,
  MARKER,
  type Place,
  readNodeDocument,
  rootIn,
} from "../../hierarchy/mod.ts";
import { isV2Document, withoutV2Nodes } from "../../metadata/mod.ts";
import { isSameBytes } from "../../runtime/mod.ts";
import {
  fileStamp,
  type Store,
  type StoreKey,
  type StoreOptions,
} from "../../stores/mod.ts";
import type { ConvertPlan, PlannedArray } from "./convert_plan.ts";

/** The files that a listing of the source has found besides the chunks. */
export interface ListedSource {
  /** The keys of files that belong to no chunk, relative to the outermost node. */
  readonly files: readonly StoreKey[];
  /** The keys of all markers of unfinished conversions below the outermost node. */
  readonly markers: readonly StoreKey[];
  /** The keys of Zarr v2 metadata beside a `zarr.json`. */
  readonly v2Documents: readonly StoreKey[];
  /** The paths of the nodes of Zarr v2. */
  readonly v2Nodes: readonly string[];
  /**
   * A number that depends on the keys of all chunks and files, and in file stores on their
   * versions; `undefined` if the source cannot list.
   */
  readonly fingerprint: number | undefined;
}

/**
 * Adds the stored chunks of the source to the lists of the arrays, and returns the other
 * files.
 *
 * @throws {Error} If a file would be a chunk of the target.
 */
export async function listSource(
  plan: ConvertPlan,
  share: Share | undefined,
  options: StoreOptions,
): Promise<ListedSource> {
  const { source, target, arrays } = plan;
  const files: StoreKey[] = [];
  const markers: StoreKey[] = [];
  const v2Documents: StoreKey[] = [];
  const v2Nodes = plan.nodes
    .filter(({ v2Documents }) => v2Documents.length > 0)
    .map(({ path }) => path);
  const found = { files, markers, v2Documents, v2Nodes };
  if (typeof source.store.list !== "function") {
    return { ...found, fingerprint: undefined };
  }
  const isBeside = besideNodes(plan);
  const isIgnored = ignoredKeys(plan);
  const lists = new Map(arrays.map(({ path, stored }) => [path, stored]));
  const ofTarget = new Map(arrays.map((array) => [
    array.path,
    new ArrayKeys(parsedArrayOf(array.target), rootIn(target, array.path)),
  ]));
  const fingerprint = new Fingerprint(source.store, share, options);
  await listHierarchy(
    source,
    plan.nodes,
    keysOf(source, arrays),
    {
      each: (key) => fingerprint.add(key),
      chunk: (path, coordinates) => lists.get(path)!.add(coordinates),
      file(key, path) {
        const relative = key.slice(source.root.length) as StoreKey;
        if (relative === MARKER) return;
        if (isV2Document(key) && isBeside(key)) {
          return void v2Documents.push(key);
        }
        const targetKey = target.root + relative as StoreKey;
        if (path !== undefined && ofTarget.get(path)!.isTaken(targetKey)) {
          throw new Error(
            `The file ${
              describe(key)
            } is no chunk of the source, and would be one of the target, ${
              describe(targetKey)
            }; remove it, or choose other keys`,
          );
        }
        files.push(relative);
      },
      isIgnored(key) {
        // The marker of this run may lie in a node that is left out.
        if (key.endsWith(MARKER)) markers.push(key);
        return isIgnored(key);
      },
    },
    options,
  );
  return { ...found, fingerprint: fingerprint.sum };
}

/** The keys of the arrays of the source, by path. */
export function keysOf(
  place: Place,
  arrays: readonly PlannedArray[],
): Map<string, ArrayKeys> {
  return new Map(arrays.map(({ path, source }) => [
    path,
    new ArrayKeys(parsedArrayOf(source), rootIn(place, path)),
  ]));
}

/** Returns a function that says whether a key belongs to a node that is left out. */
function ignoredKeys(
  { source, nodes, leftOut, selected }: ConvertPlan,
): (key: string) => boolean {
  return keysLeftOut(
    source,
    nodes.map(({ path }) => path),
    selected,
    leftOut.map(({ path }) => path),
  );
}

/** Returns a function that says whether a document of Zarr v2 lies beside the `zarr.json` of a node. */
export function besideNodes(
  { source, target, nodes, selected }: ConvertPlan,
): (key: string) => boolean {
  const paths = nodes.map(({ path }) => path);
  // In place, nodes that are left out stay as they are.
  if (source !== target) paths.push(...selected.excluded);
  const roots = new Set<string>(paths.map((path) => rootIn(source, path)));
  return (key) => roots.has(key.slice(0, key.lastIndexOf("/")));
}

/**
 * Removes the nodes of the source from consolidated metadata of Zarr v2, since their chunks
 * get other keys.
 *
 * @param bytes The consolidated metadata.
 * @param key The key of the consolidated metadata in the source.
 */
export function withoutNodes(
  bytes: Uint8Array,
  key: StoreKey,
  plan: ConvertPlan,
): Uint8Array {
  const isBeside = besideNodes(plan);
  const folder = key.slice(0, key.lastIndexOf("/") + 1);
  try {
    return withoutV2Nodes(bytes, (path) => isBeside(`${folder}${path}`));
  } catch (error) {
    if (error instanceof MetadataError) return bytes; // The bytes are no JSON.
    throw error;
  }
}

/** A sum over the keys of a source, in any order, and over the versions of files. */
class Fingerprint {
  sum = 0;
  readonly #store: Store;
  readonly #share: Share | undefined;
  readonly #options: StoreOptions;

  /** @param share The share of the files whose versions count, so that not each of many shares looks at all of them. */
  constructor(store: Store, share: Share | undefined, options: StoreOptions) {
    this.#store = store;
    this.#share = share;
    this.#options = options;
  }

  add(key: StoreKey): void {
    const isIncluded = !this.#share || isInShare(this.#share, key);
    const stamp = isIncluded && fileStamp(this.#store, key, this.#options);
    this.sum = addHash(this.sum, `${key} ${stamp}`);
  }
}

/** Throws if a document of the source, or one of its chunks and files, has changed since it was listed. */
export async function assertUnchanged(
  plan: ConvertPlan,
  listed: ListedSource,
  share: Share | undefined,
  options: StoreOptions,
): Promise<void> {
  const { source, nodes, arrays } = plan;
  for (const { path, bytes } of nodes) {
    const found = await readNodeDocument(source, path, false, options);
    if (!isSameBytes(found?.bytes, bytes)) throw changedError(plan);
  }
  if (listed.fingerprint === undefined) return;
  const fingerprint = new Fingerprint(source.store, share, options);
  await listHierarchy(source, nodes, keysOf(source, arrays), {
    chunk() {},
    file() {},
    each: (key) => fingerprint.add(key),
    isIgnored: ignoredKeys(plan),
  }, options);
  if (fingerprint.sum !== listed.fingerprint) throw changedError(plan);
}

/** An error about a source that has changed during the conversion. */
function changedError({ source, target }: ConvertPlan): Error {
  return new Error(
    `${
      describePlace(source)
    } has changed while it was converted, and the conversion to ${
      describePlace(target)
    } is left unfinished; run it again with the option "overwrite" when nobody writes`,
  );
}
