import type { StoreOptions } from "../../stores/store.ts";
import { ArrayKeys } from "../hierarchy/array_keys.ts";
import type { ConvertPlan, PlannedArray } from "../plan/convert_plan.ts";
import { listHierarchy } from "../hierarchy/list_hierarchy.ts";
import { documentKey } from "../hierarchy/node_location.ts";

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
