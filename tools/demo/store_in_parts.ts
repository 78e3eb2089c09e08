import { type ArrayChunks, createArrayChunks, type Store } from "../../mod.ts";
import { inParts } from "./in_parts.ts";

/**
 * Stores the shards of an array of two dimensions again, in parts.
 *
 * @param source The array.
 * @param store An empty store. The new array is created at its root.
 * @returns The coordinates of all shards, in C order.
 */
export async function storeInParts(
  source: ArrayChunks,
  store: Store,
): Promise<number[][]> {
  const copy = await createArrayChunks(store, "", inParts(source.metadata));
  const all = (await Array.fromAsync(source.list()))
    .sort((a, b) => a[0]! - b[0]! || a[1]! - b[1]!);
  for (const coordinates of all) {
    await copy.set(coordinates, (await source.stream(coordinates))!);
  }
  return all;
}
