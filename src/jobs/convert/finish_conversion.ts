import { isSameBytes, runConcurrently } from "../../runtime/mod.ts";
import {
  fileStamp,
  type Store,
  type StoreOptions,
  write,
} from "../../stores/mod.ts";
import { ArrayKeys } from "../hierarchy/array_keys.ts";
import { addHash, listHierarchy } from "../hierarchy/list_hierarchy.ts";
import { describePlace, documentKey } from "../hierarchy/node_location.ts";
import type { Claim } from "./claim_target.ts";
import type { ConvertOptions } from "./convert_options.ts";
import {
  type ConvertPlan,
  fingerprintOf,
  type ListedSource,
  type PlannedArray,
} from "./convert_plan.ts";
import type { ConvertWork, WorkItem } from "./convert_work.ts";
import { assertStillMarked, removeMarker } from "./unfinished_marker.ts";

/**
 * Writes the documents of the target, the outermost one last, and removes the marker. From
 * then on, the target opens.
 *
 * @throws {Error} If the source has changed, or another program has claimed the target.
 */
export async function finishConversion(
  plan: ConvertPlan,
  listed: ListedSource,
  { marker }: Claim,
  options: ConvertOptions,
): Promise<void> {
  const { target, documents } = plan;
  await assertUnchanged(plan, listed, options);
  // Without a marker, the target was finished before, with the same documents.
  if (marker === undefined) return;
  await assertStillMarked(target, marker, options);
  if (options.resume || options.finish) {
    const { signal } = options;
    await removeStaleChunks(plan, signal ? { signal } : {});
  }
  for (const [path, bytes] of documents) {
    await write(target.store, documentKey(target, path), bytes, options);
  }
  await removeMarker(target, options);
}

/** Throws if a document of the source, or its list of chunks and files, is another one now. */
async function assertUnchanged(
  plan: ConvertPlan,
  { fingerprint }: ListedSource,
  options: StoreOptions,
): Promise<void> {
  const { source, nodes } = plan;
  for (const { path, bytes } of nodes) {
    const key = documentKey(source, path);
    const found = await source.store.get(key, options);
    if (!isSameBytes(found, bytes)) throw changed(plan);
  }
  if (fingerprint === undefined) return;
  if (await fingerprintOf(plan, options) !== fingerprint) throw changed(plan);
}

/** An error about a source that is another one now. */
export function changed({ source, target }: ConvertPlan): Error {
  return new Error(
    `${
      describePlace(source)
    } has changed while it was converted, and the conversion to ${
      describePlace(target)
    } is left unfinished; run it again with the option "overwrite" when nobody writes`,
  );
}

/**
 * Removes chunks from a target that is not finished, which the source had when an earlier
 * run copied them and does not have any more. Stores that cannot list are left as they are.
 */
export async function removeStaleChunks(
  plan: ConvertPlan,
  options: StoreOptions,
): Promise<void> {
  if (typeof plan.target.store.list !== "function") return;
  const counts = new Map<PlannedArray, number>();
  await listChunks(plan, plan.arrays, (array) => {
    counts.set(array, (counts.get(array) ?? 0) + 1);
  }, options);
  // All chunks of the source are there, so that more chunks are stale ones.
  const stale = plan.arrays.filter((array) =>
    (counts.get(array) ?? 0) > (array.stored?.count ?? Infinity)
  );
  if (stale.length === 0) return;
  const known = new Map(
    stale.map((array) => [array, new Set(Array.from(array.stored!, String))]),
  );
  const found: [PlannedArray, readonly number[]][] = [];
  await listChunks(plan, stale, (array, coordinates) => {
    const isKnown = known.get(array)!.has(String(coordinates));
    if (!isKnown) found.push([array, coordinates]);
  }, options);
  for (const [array, coordinates] of found) {
    await array.target.delete(coordinates, options);
  }
}

/** Lists the chunks of some arrays of the target. */
async function listChunks(
  { target, nodes }: ConvertPlan,
  arrays: readonly PlannedArray[],
  onChunk: (array: PlannedArray, coordinates: readonly number[]) => void,
  options: StoreOptions,
): Promise<void> {
  const byPath = new Map(arrays.map((array) => [array.path, array]));
  const keys = new Map(arrays.map(({ path, target: { metadata } }) => {
    const root = documentKey(target, path).slice(0, -"/zarr.json".length);
    return [path, new ArrayKeys(metadata, root)];
  }));
  await listHierarchy(target, nodes, keys, {
    chunk: (path, coordinates) => onChunk(byPath.get(path)!, coordinates),
    file() {},
  }, options);
}

/**
 * Notices values of a file store that are replaced while a run copies others. Other stores
 * tell no versions without reading.
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

  /** Notes a value before it is copied. */
  async take(item: WorkItem, options: StoreOptions): Promise<void> {
    const text = await this.#stampsOf(item, options);
    if (text === "") return;
    this.#isFound = true;
    this.#sum = addHash(this.#sum, text);
  }

  /**
   * Looks at all values again after the last one was copied.
   *
   * @throws {Error} If a value was replaced.
   */
  async check(
    plan: ConvertPlan,
    work: ConvertWork,
    { concurrency = 4, signal }: ConvertOptions,
  ): Promise<void> {
    if (!this.#isFound) return;
    let sum = 0;
    await runConcurrently(work, concurrency, async (item, signal) => {
      const text = await this.#stampsOf(item, { signal });
      if (text !== "") sum = addHash(sum, text);
    }, signal);
    if (sum !== this.#sum) throw changed(plan);
  }

  /** The stamps of the files of a value; empty if they have none. */
  async #stampsOf(
    { keys }: WorkItem,
    options: StoreOptions,
  ): Promise<string> {
    let text = "";
    for (const key of keys) {
      const stamp = await fileStamp(this.#store, key, options);
      if (stamp !== undefined) text += `${key} ${stamp}\n`;
    }
    return text;
  }
}
