import { type ArrayChunks, createArrayChunks, type Store } from "../../mod.ts";
import { inParts } from "./in_parts.ts";

/**
 * Stores a sharded array of two dimensions again, with its shards in parts.
 *
 * @param source The array.
 * @param store An empty store, at whose root the new array will be.
 * @returns The coordinates of all shards, in order.
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
