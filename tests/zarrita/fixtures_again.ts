import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  type ArrayMetadata,
  createArrayChunks,
  FileSystemStore,
  MemoryStore,
  openArrayChunks,
  parseShardLayout,
  PartSizeError,
  shardIndexSize,
  type StoreKey,
} from "../../mod.ts";
import { withZarrParts } from "../../zarrita.ts";
import { listed } from "../stores/store_values.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { encodeJson, readJson } from "../support/documents.ts";
import type { FoundNode } from "./fixtures_found.ts";
import { type ChunkLengths, refusingWays, type Way } from "./fixtures_ways.ts";

export type AnyStore = MemoryStore | FileSystemStore;

/** An array's encoded chunks. */
export interface EncodedArray {
  readonly node: FoundNode;
  readonly chunks: readonly (readonly [number[], Uint8Array])[];
  readonly lengths: ChunkLengths;
}

/** Reads all encoded chunks of an array. */
export async function encodedArray(
  folder: string,
  node: FoundNode,
): Promise<EncodedArray> {
  const array = await openArrayChunks(new FileSystemStore(folder), node.path);
  const chunks: [number[], Uint8Array][] = [];
  for await (const coordinates of array.list()) {
    chunks.push([coordinates, (await array.get(coordinates))!]);
  }
  const all = chunks.map(([, { length }]) => length);
  const least = Math.min(...all);
  const index = indexOf(array.metadata);
  const lengths = {
    least: isFinite(least) ? least : 0,
    most: Math.max(0, ...all),
    ...index && { index },
  };
  return { node, chunks, lengths };
}

function indexOf({ codecs, chunk_grid }: ArrayMetadata) {
  const [codec] = codecs as { name?: string }[];
  if (codec?.name !== "sharding_indexed") return undefined;
  const { chunk_shape } = chunk_grid.configuration!;
  const layout = parseShardLayout(codec, chunk_shape as number[]);
  return {
    size: shardIndexSize(layout),
    isFirst: layout.indexLocation === "start",
  };
}

/** Stores an array at its path in another store, in a way of its own. */
export async function storeAgain(
  { node, chunks }: EncodedArray,
  target: AnyStore,
  way: Way,
): Promise<void> {
  const created = await createAgain(node, target, way);
  for (const [coordinates, bytes] of chunks) {
    await created.set(coordinates, bytes);
  }
}

async function createAgain(
  { path, document }: FoundNode,
  target: AnyStore,
  way: Way,
  folder = "",
) {
  const { storage_transformers: _, ...metadata } = document;
  const root = [folder, path].filter((name) => name).join("/");
  return await createArrayChunks(target, root, { ...metadata, ...way });
}

/** Asserts that a chunk that does not fit its parts is rejected and not stored; returns the number of tries. */
export async function assertRefusesSizes(
  { node, chunks, lengths }: EncodedArray,
  store: AnyStore,
): Promise<number> {
  const found = chunks.find(([, { length }]) => length === lengths.least);
  if (found === undefined) return 0;
  const [coordinates, bytes] = found;
  const ways = refusingWays(bytes.length);
  for (const [i, way] of ways.entries()) {
    const created = await createAgain(node, store, way, `${i}`);
    const stored = await listed(store);
    const key: StoreKey = `/${
      [i, node.path, "c", ...coordinates].filter((name) => name !== "")
        .join("/")
    }`;
    const writes = [
      () => created.set(coordinates, bytes),
      () => created.set(coordinates, ReadableStream.from([bytes])),
      // If chunks are shards, zarrita sees their inner chunks instead.
      ...lengths.index ? [] : [() => withZarrParts(store).set(key, bytes)],
    ];
    for (const write of writes) {
      const error = await assertRejects(write, PartSizeError);
      assert(error.actual !== error.expected);
      assertEquals(await listed(store), stored);
    }
  }
  return ways.length;
}

/** Runs with a store in memory, and with one in a folder of its own. */
export async function inBothStores(
  run: (store: AnyStore) => Promise<void>,
): Promise<void> {
  await run(new MemoryStore());
  await inTempDir((folder) => run(new FileSystemStore(folder)));
}

/** Stores documents of groups, with the metadata of nodes in them as it is shown. */
export async function storeGroups(
  nodes: readonly FoundNode[],
  target: AnyStore,
): Promise<void> {
  const wrapped = withZarrParts(target);
  const keyOf = (...names: string[]) =>
    ["", ...names, "zarr.json"].filter((name, i) => name || i === 0)
      .join("/") as StoreKey;
  for (const { path, kind, document } of nodes) {
    if (kind !== "group") continue;
    const known = document.consolidated_metadata?.metadata ?? {};
    const shown = { ...known };
    for (const name of Object.keys(known)) {
      if (known[name].node_type !== "array") continue;
      shown[name] = await readJson(wrapped, keyOf(path, name));
    }
    const consolidated_metadata = document.consolidated_metadata &&
      { ...document.consolidated_metadata, metadata: shown };
    const group = { ...document, consolidated_metadata };
    await wrapped.set(keyOf(path), encodeJson(group));
    await assertStoredKnown(target, path, Object.keys(known));
  }
}

/** Asserts that the metadata in a group is that of the stored arrays, not of the shown ones. */
async function assertStoredKnown(
  target: AnyStore,
  path: string,
  names: string[],
): Promise<void> {
  const root = path && `/${path}` as "/";
  const group = await readJson(target, `${root}/zarr.json`);
  for (const name of names) {
    const known = group.consolidated_metadata.metadata[name];
    if (known.node_type !== "array") continue;
    const stored = await readJson(target, `${root}/${name}/zarr.json`);
    for (
      const member of ["chunk_key_encoding", "storage_transformers", "codecs"]
    ) {
      assertEquals(known[member], stored[member], name);
    }
  }
}
