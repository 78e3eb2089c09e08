import {
  createArrayChunks,
  FileSystemStore,
  MemoryStore,
  openArrayChunks,
} from "../mod.ts";
import { inParts } from "./in_parts.ts";

const SOURCE = new URL("../tests/fixtures/dem.zarr", import.meta.url);

/** The elevation model in two folders: as zarr-python wrote it, and in parts. */
export interface ReadFolders {
  readonly plain: string;
  readonly parts: string;
}

/**
 * Stores the elevation model as it is, and with a suffix and its shards in two
 * parts: the inner chunks, and the index.
 */
export async function makeReadFolders(root: string): Promise<ReadFolders> {
  const folders = { plain: `${root}/plain`, parts: `${root}/parts` };
  const source = await openArrayChunks(new FileSystemStore(SOURCE));
  const { metadata } = source;
  const [plain, parts] = await Promise.all([
    createArrayChunks(new FileSystemStore(folders.plain), "", metadata),
    createArrayChunks(
      new FileSystemStore(folders.parts),
      "",
      inParts(metadata),
    ),
  ]);
  for await (const coordinates of source.list()) {
    const shard = (await source.get(coordinates))!;
    await plain.set(coordinates, shard);
    await parts.set(coordinates, shard);
  }
  return folders;
}

/** Copies a folder into memory. */
export async function inMemory(folder: string): Promise<MemoryStore> {
  const files = new FileSystemStore(folder);
  const memory = new MemoryStore();
  for await (const key of files.list()) {
    await memory.set(key, (await files.get(key))!);
  }
  return memory;
}
