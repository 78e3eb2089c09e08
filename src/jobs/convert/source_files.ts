import { parsedArrayOf } from "../../arrays/mod.ts";
import { describe, MetadataError } from "../../errors/mod.ts";
import { isV2Document, withoutV2Nodes } from "../../metadata/mod.ts";
import { runConcurrently } from "../../runtime/mod.ts";
import type { Part } from "../../splitter/mod.ts";
import {
  fileStamp,
  type Store,
  type StoreKey,
  type StoreOptions,
} from "../../stores/mod.ts";
import {
  addHash,
  ArrayKeys,
  describePlace,
  keysLeftOut,
  listHierarchy,
  MARKER,
  type Place,
  rootIn,
} from "../../hierarchy/mod.ts";
import type { ConvertOptions } from "./convert_options.ts";
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
  /** A number that depends on all chunks and files; `undefined` if the source cannot list. */
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
  const lists = new Map(arrays.map(({ path, stored }) => [path, stored!]));
  const ofTarget = new Map(arrays.map((array) => [
    array.path,
    new ArrayKeys(parsedArrayOf(array.target), rootIn(target, array.path)),
  ]));
  const fingerprint = await listHierarchy(
    source,
    plan.nodes,
    keysOf(source, arrays),
    {
      chunk: (path, coordinates) => lists.get(path)!.push(coordinates),
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
  return { ...found, fingerprint };
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

/** Lists the source once more, and returns its fingerprint. */
export async function fingerprintOf(
  plan: ConvertPlan,
  options: StoreOptions,
): Promise<number> {
  const { source, nodes, arrays } = plan;
  const nothing = { chunk() {}, file() {}, isIgnored: ignoredKeys(plan) };
  const keys = keysOf(source, arrays);
  return await listHierarchy(source, nodes, keys, nothing, options);
}

/** A value that is copied from the source. */
export interface CopiedValue {
  readonly from: { readonly key: StoreKey; readonly parts: readonly Part[] };
}

/**
 * Detects values of a file store that are replaced during a conversion. Other stores have no
 * stamps that tell versions of a value apart.
 */
export class SourceStamps {
  readonly #store: Store;
  /** The sum of the hashes of all stamps before their values were copied. */
  #sum = 0;
  /** Whether the store has stamps. */
  #isFound = false;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Takes the stamps of a value before the value is copied. */
  async take(value: CopiedValue, options: StoreOptions): Promise<void> {
    const text = await this.#stampsOf(value, options);
    if (text === "") return;
    this.#isFound = true;
    this.#sum = addHash(this.#sum, text);
  }

  /**
   * Takes the stamps of all values again after the last one was copied.
   *
   * @throws {Error} If a value was replaced.
   */
  async check(
    plan: ConvertPlan,
    values: Iterable<CopiedValue>,
    { concurrency = 4, signal }: ConvertOptions,
  ): Promise<void> {
    if (!this.#isFound) return;
    let sum = 0;
    await runConcurrently(values, concurrency, async (value, signal) => {
      const text = await this.#stampsOf(value, { signal });
      if (text !== "") sum = addHash(sum, text);
    }, signal);
    if (sum !== this.#sum) throw changedError(plan);
  }

  /** The stamps of the files of a value; empty if they have none. */
  async #stampsOf(
    { from: { key, parts } }: CopiedValue,
    options: StoreOptions,
  ): Promise<string> {
    let text = "";
    for (const { keySuffix } of parts) {
      const file: StoreKey = `${key}${keySuffix}`;
      const stamp = await fileStamp(this.#store, file, options);
      if (stamp !== undefined) text += `${file} ${stamp}\n`;
    }
    return text;
  }
}

/** An error about a source that has changed during the conversion. */
export function changedError({ source, target }: ConvertPlan): Error {
  return new Error(
    `${
      describePlace(source)
    } has changed while it was converted, and the conversion to ${
      describePlace(target)
    } is left unfinished; run it again with the option "overwrite" when nobody writes`,
  );
}
