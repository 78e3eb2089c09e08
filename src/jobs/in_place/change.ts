import { crc32c } from "../../checksum/mod.ts";
import { joinBytes } from "../../runtime/mod.ts";
import type { FolderKey, StoreKey } from "../../stores/mod.ts";
import type { ChunkFiles } from "./layout.ts";
import {
  folderOf,
  foldersOf,
  type InPlaceRun,
  type RecordedChunk,
} from "./run.ts";
import { hiddenKey, type InPlaceState } from "./state.ts";

/** Makes files longer, by the bytes of the parts that the new layout does not have. */
export async function joinChunks(
  run: InPlaceRun,
  chunks: Iterable<RecordedChunk>,
): Promise<void> {
  const folders = new Set<FolderKey>();
  await run.forEach(
    growing(chunks),
    (chunk) => joinChunk(run, chunk, folders),
  );
  await run.files.sync(folders);
}

async function joinChunk(
  run: InPlaceRun,
  chunk: RecordedChunk,
  folders: Set<FolderKey>,
): Promise<void> {
  const { files } = run;
  const { data, tail, removed } = chunk.files;
  const { from, old, new: length } = data!;
  const moved = await readRecorded(run, chunk);
  // Readers that opened the array earlier find parts missing.
  for (const key of tail) {
    const isHidden = !removed.includes(key) ||
      await files.stat(key) === undefined;
    if (!isHidden) await files.rename(key, hiddenKey(key));
    folders.add(folderOf(key));
  }
  const facts = await files.stat(from);
  const isExpected = facts && facts.size >= old && facts.size <= length &&
    facts.links === 1;
  if (!isExpected) throw run.changed(from);
  await files.extend(from, old, moved);
  run.bytes += moved.length;
}

/** Makes the files of an earlier layout as they were, of which some were made longer. */
export async function undoJoins(
  run: InPlaceRun,
  state: InPlaceState,
  chunks: Iterable<RecordedChunk>,
): Promise<void> {
  const { files } = run;
  const folders = new Set<FolderKey>();
  for (const { files: { data, tail } } of growing(chunks)) {
    const facts = await files.stat(data!.from);
    if (facts && facts.size > data!.old) await files.cut(data!.from, data!.old);
    for (const key of tail) {
      if (await files.stat(hiddenKey(key)) === undefined) continue;
      await files.rename(hiddenKey(key), key);
      folders.add(folderOf(key));
    }
  }
  await files.sync(folders);
  await run.placeDocuments(state, "before");
}

/** Cuts files, and gives files their new names. */
export async function cutChunks(
  run: InPlaceRun,
  state: InPlaceState,
  chunks: Iterable<RecordedChunk>,
): Promise<void> {
  const renamed = new Set(
    state.arrays.filter(({ isRenamed }) => isRenamed).map(({ path }) => path),
  );
  const folders = new Set<FolderKey>();
  const rename = async (from: StoreKey, to: StoreKey) => {
    folders.add(folderOf(from));
    for (const folder of foldersOf(to, run.place)) folders.add(folder);
    await renameOnce(run, from, to);
  };
  await run.forEach(changing(chunks, renamed), async (chunk) => {
    const { array, files } = chunk;
    if (array.growth < 0) await cutChunk(run, chunk);
    const { data } = files;
    if (data && data.from !== data.to) await rename(data.from, data.to);
    if (!renamed.has(array.planned.path)) return;
    for (const { from, to } of files.renamed) await rename(from, to);
  });
  await run.files.sync(folders);
}

async function cutChunk(run: InPlaceRun, chunk: RecordedChunk): Promise<void> {
  const { files } = run;
  const { from, to, old, new: length } = chunk.files.data!;
  const facts = await files.stat(from);
  // An earlier run has cut and renamed the file.
  if (facts === undefined && from !== to) return;
  if (facts === undefined || facts.links > 1) throw run.changed(from);
  if (facts.size === old) {
    await readRecorded(run, chunk);
  } else if (facts.size !== length) throw run.changed(from);
  await files.cut(from, length);
}

/** Renames a file, unless an earlier run has done so. */
async function renameOnce(
  run: InPlaceRun,
  from: StoreKey,
  to: StoreKey,
): Promise<void> {
  const { files } = run;
  if (await files.stat(from) !== undefined) return await files.rename(from, to);
  if (await files.stat(to) === undefined) throw run.changed(from);
}

/** The chunks whose files become longer. */
function* growing(chunks: Iterable<RecordedChunk>): Iterable<RecordedChunk> {
  for (const chunk of chunks) if (chunk.array.growth > 0) yield chunk;
}

/** The chunks whose files become shorter or are renamed. */
function* changing(
  chunks: Iterable<RecordedChunk>,
  renamed: ReadonlySet<string>,
): Iterable<RecordedChunk> {
  for (const chunk of chunks) {
    const { growth, planned } = chunk.array;
    if (growth !== 0 || renamed.has(planned.path)) yield chunk;
  }
}

/** The bytes of a chunk that move between its files: those that are cut off, or appended. */
export async function readMoved(
  run: InPlaceRun,
  { data, tail }: ChunkFiles,
): Promise<Uint8Array> {
  if (data === undefined) return new Uint8Array();
  const { from, old, new: length } = data;
  const count = Math.abs(length - old);
  const moved = length < old
    ? await run.files.read(from, length, count)
    : await readTail(run, tail, count);
  if (moved?.length === count) return moved;
  throw run.changed(from);
}

/** The first bytes behind the unsized part. */
async function readTail(
  { files }: InPlaceRun,
  tail: ChunkFiles["tail"],
  count: number,
): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for (const key of tail) {
    const part = await files.read(key, 0) ??
      await files.read(hiddenKey(key), 0);
    if (part !== undefined) parts.push(part);
  }
  return joinBytes(parts).subarray(0, count);
}

/** Reads the bytes that move once more, and refuses others than those that were recorded. */
export async function readRecorded(
  run: InPlaceRun,
  { files, checksum }: RecordedChunk,
): Promise<Uint8Array> {
  const moved = await readMoved(run, files);
  if (crc32c(moved) === checksum) return moved;
  throw run.changed(files.data!.from);
}
