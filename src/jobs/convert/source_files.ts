import { hash, isInShare, parsedArrayOf } from "../../arrays/mod.ts";
import { MetadataError, sentence } from "../../errors/mod.ts";
import {
  ArrayKeys,
  describePlace,
  keysLeftOut,
  listHierarchy,
  type ListingEvents,
  MARKER,
  readNodeDocument,
  rootIn,
} from "../../hierarchy/mod.ts";
import { isV2Document, withoutV2Nodes } from "../../metadata/mod.ts";
import { isSameBytes } from "../../runtime/mod.ts";
import { fileStamp, type StoreKey } from "../../stores/mod.ts";
import type { ConvertOptions } from "./convert_options.ts";
import type { ConvertPlan } from "./convert_plan.ts";

/** The files that a listing of the source has found besides the chunks. */
export interface ListedSource {
  /** The keys of files that belong to no chunk, relative to the outermost node. */
  readonly files: readonly StoreKey[];
  /** The keys of all markers of unfinished conversions below the outermost node. */
  readonly markers: readonly StoreKey[];
  /** The keys of Zarr v2 metadata beside a `zarr.json`. */
  readonly v2Documents: readonly StoreKey[];
  /** A number that depends on the keys of all chunks and files, and in file stores on their versions. */
  readonly fingerprint: number;
}

/**
 * Adds the stored chunks of the source to the lists of the arrays, and returns the other
 * files. A source that cannot list has none.
 *
 * @throws {Error} If a file would be a chunk of the target.
 */
export async function listSource(
  plan: ConvertPlan,
  options: ConvertOptions,
): Promise<ListedSource> {
  const { source, target, arrays } = plan;
  const files: StoreKey[] = [];
  const markers: StoreKey[] = [];
  const v2Documents: StoreKey[] = [];
  const isBeside = besideNodes(plan);
  const lists = new Map(arrays.map(({ path, stored }) => [path, stored]));
  const ofTarget = keysOfTarget(plan);
  const fingerprint = await listWithFingerprint(plan, options, {
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
          sentence`The file ${key} is no chunk of the source, and would be one of the target, ${targetKey}; remove it, or choose other keys`,
        );
      }
      files.push(relative);
    },
    // The marker of this run may lie in a node that is left out.
    any: (key) => void (key.endsWith(MARKER) && markers.push(key)),
  });
  return { files, markers, v2Documents, fingerprint };
}

/**
 * Lists the source.
 *
 * @param events `any`: called with all keys, also those of nodes that are left out.
 * @returns A sum over the keys, in any order, and over the versions of files.
 */
async function listWithFingerprint(
  { source, nodes, leftOut, selected }: ConvertPlan,
  options: ConvertOptions,
  { any, ...events }: Pick<ListingEvents, "chunk" | "file"> & {
    any?(key: StoreKey): void;
  },
): Promise<number> {
  const { store } = source;
  if (typeof store.list !== "function") return 0;
  const isLeftOut = keysLeftOut(
    source,
    nodes.map(({ path }) => path),
    selected,
    leftOut.map(({ path }) => path),
  );
  let sum = 0;
  await listHierarchy(source, nodes, {
    ...events,
    isIgnored(key) {
      any?.(key as StoreKey);
      return isLeftOut(key);
    },
    each(key) {
      // Not each of many shares looks at the versions of all files.
      const isIncluded = !options.share || isInShare(options.share, key);
      const stamp = isIncluded && fileStamp(store, key, options);
      sum = addHash(sum, `${key} ${stamp}`);
    },
  }, options);
  return sum;
}

/** Sums stay below this number, so that adding a hash of 32 bits never rounds. */
const LIMIT = 2 ** 52;

/** Adds the hash of a text to a sum of hashes, which does not depend on their order. */
export function addHash(sum: number, text: string): number {
  return (sum + hash(text)) % LIMIT;
}

/** The keys of the arrays of a conversion in the target, by path. */
export function keysOfTarget(
  { target: place, arrays }: ConvertPlan,
): Map<string, ArrayKeys> {
  return new Map(arrays.map(({ path, target }) => [
    path,
    new ArrayKeys(parsedArrayOf(target), rootIn(place, path)),
  ]));
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

/** Throws if a document of the source, or one of its chunks and files, has changed since it was listed. */
export async function assertUnchanged(
  plan: ConvertPlan,
  { fingerprint }: ListedSource,
  options: ConvertOptions,
): Promise<void> {
  for (const { path, bytes } of plan.nodes) {
    const found = await readNodeDocument(plan.source, path, false, options);
    if (!isSameBytes(found?.bytes, bytes)) throw changedError(plan);
  }
  const events = { chunk() {}, file() {} };
  if (await listWithFingerprint(plan, options, events) !== fingerprint) {
    throw changedError(plan);
  }
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
