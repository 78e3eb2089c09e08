import {
  createArrayChunks,
  openArrayChunks,
  plainView,
  type Store,
  type StoreKey,
} from "../../mod.ts";
import type { StorageWay } from "./storage_ways.ts";

/** Copies an array to another store, where it is stored in another way. */
export async function storeArrayAgain(
  source: Store,
  target: Store,
  path: string,
  way: StorageWay,
): Promise<void> {
  const chunks = await openArrayChunks(source, path);
  const values: [number[], Uint8Array][] = [];
  for await (const coordinates of chunks.list()) {
    values.push([coordinates, (await chunks.get(coordinates))!]);
  }
  const least = Math.min(...values.map(([, bytes]) => bytes.length));
  const created = await createArrayChunks(target, path, {
    ...chunks.metadata,
    ...way(isFinite(least) ? least : 0),
  });
  for (const [coordinates, bytes] of values) {
    await created.set(coordinates, bytes);
  }
}

/**
 * Copies the metadata of groups to another store, to which their arrays have been
 * copied. Consolidated metadata of arrays becomes the metadata of the copies.
 */
export async function storeGroupsAgain(
  source: Store,
  target: Store & Required<Pick<Store, "set">>,
  paths: readonly string[],
): Promise<void> {
  const view = plainView(target);
  for (const path of paths) {
    const key: StoreKey = path === "" ? "/zarr.json" : `/${path}/zarr.json`;
    const document = await source.get(key);
    if (document) await view.set(key, document);
  }
}

/** Copies the plain view of a store. */
export async function copyPlain(
  source: Store & Required<Pick<Store, "list">>,
  target: Required<Pick<Store, "set">>,
): Promise<void> {
  const view = plainView(source);
  const keys = await Array.fromAsync(view.list());
  await Promise.all(keys.map(async (key) => {
    await target.set(key, (await view.get(key))!);
  }));
}
