import { crc32c } from "../../checksum/mod.ts";
import { describe } from "../../errors/mod.ts";
import { joinBytes, runConcurrently } from "../../runtime/mod.ts";
import { assertFileSize, decodeFileRecord } from "../../shards/mod.ts";
import type { FolderKey, StoreKey } from "../../stores/mod.ts";
import type { ConvertPlan } from "../convert/convert_plan.ts";
import {
  encodeMarker,
  markerKey,
  newInPlaceMarker,
} from "../convert/unfinished_marker.ts";
import type { Place } from "../../hierarchy/mod.ts";
import type { ChunkFiles, InPlaceArray } from "./chunk_files.ts";
import {
  folderOf,
  foldersOf,
  type InPlaceRun,
  type RecordedChunk,
  recordOf,
} from "./in_place_run.ts";
import { type InPlaceListing, listInPlace } from "./preconditions.ts";
import {
  hiddenKey,
  type InPlaceState,
  recordKey,
  stagedDocument,
  stagedFolder,
  stagedMarker,
} from "./state.ts";

/**
 * The phase `prepare`: adds the files that the new layout needs, and writes everything that
 * the later phases need, so that these phases take no space on the disk but that of files
 * which become longer.
 */
export async function prepare(
  run: InPlaceRun,
  chunks: InPlaceListing["chunks"],
  { documents, ...others }: Omit<InPlaceState, "phase" | "arrays">,
): Promise<InPlaceState> {
  const { files, place } = run;
  const records = new Map(run.arrays.map((each) => [each, recordOf(each)]));
  const renamed = new Set<InPlaceArray>();
  const folders = new Set<FolderKey>();
  await run.forEach(itemsOf(chunks), async ([array, coordinates]) => {
    const entry = await prepareChunk(run, array, coordinates, renamed, folders);
    records.get(array)!.push([...coordinates, ...entry]);
  });
  // Whether each array cannot be read while its files change.
  const closed = new Map(
    run.arrays.map((array) => [
      array.planned.path,
      array.growth !== 0 || renamed.has(array),
    ]),
  );
  const isAnyClosed = [...closed.values()].includes(true);
  const state: InPlaceState = {
    phase: "prepare",
    ...others,
    documents: documents.map(({ interim, ...document }) => ({
      ...document,
      interim: closed.get(document.path) ?? isAnyClosed ? interim : undefined,
    })),
    arrays: run.arrays.map((array) => ({
      path: array.planned.path,
      count: records.get(array)!.count,
      isRenamed: renamed.has(array),
    })),
  };
  const numbers = run.arrays.map((array) => records.get(array)!.numbers);
  const record = new Blob(numbers as Float64Array<ArrayBuffer>[]);
  // Written first, since this creates the folder of all staged files.
  await files.write(recordKey(place), await record.bytes());
  await runConcurrently(
    stagedFiles(place, state),
    run.concurrency,
    ([key, bytes]) => files.write(key, bytes),
  );
  await files.sync([...folders, stagedFolder(place), place.root]);
  return state;
}

function* itemsOf(
  chunks: InPlaceListing["chunks"],
): Iterable<[InPlaceArray, readonly number[]]> {
  for (const [array, list] of chunks) {
    for (const coordinates of list) yield [array, coordinates];
  }
}

/**
 * Adds the new files of a chunk.
 *
 * @param renamed The arrays of which files cannot be linked to their new names, and are
 * renamed later. The array of the chunk may be added.
 * @param folders The folders of added files are added.
 * @returns The length of the chunk, and the checksum of the bytes that move between files.
 */
async function prepareChunk(
  run: InPlaceRun,
  array: InPlaceArray,
  coordinates: readonly number[],
  renamed: Set<InPlaceArray>,
  folders: Set<FolderKey>,
): Promise<[size: number, checksum: number]> {
  const { files, storeOptions } = run;
  const { source } = array.planned;
  array.assertNoCollision(coordinates);
  const size = await sizeOf(run, array, coordinates) ??
    await source.size(coordinates, storeOptions);
  if (size === undefined) throw run.changedError(source.key(coordinates));
  const changes = array.filesOf(coordinates, size);
  await assertReady(run, changes);
  const read = async (offset: number, length: number) => {
    if (length === 0) return new Uint8Array();
    const range = { offset, length };
    const bytes = await source.getRange(coordinates, range, storeOptions);
    if (bytes?.length === length) return bytes;
    throw run.changedError(source.key(coordinates));
  };
  const addFolders = (key: StoreKey) => {
    for (const folder of foldersOf(key, run.place)) folders.add(folder);
  };
  for (const { from, to } of changes.renamed) {
    if (!renamed.has(array) && !await files.link(from, to)) renamed.add(array);
    addFolders(to);
  }
  const moved = await readMoved(run, changes);
  const { data, written } = changes;
  const record = decodeFileRecord(moved.subarray(0, array.recordSize));
  if (data && record) assertFileSize(record, data.from, data.oldSize);
  // The offset in the chunk of the bytes that move.
  const start = data ? data.offset + Math.min(data.oldSize, data.newSize) : 0;
  for (const { to, offset, length } of written) {
    const end = offset - start + length;
    const bytes = offset >= start && end <= moved.length
      ? moved.subarray(offset - start, end)
      : await read(offset, length);
    if (!await files.create(to, bytes)) {
      await files.stat(to); // Throws if a folder or a link is there.
      throw takenError(to);
    }
    run.bytes += length;
    addFolders(to);
  }
  return [size, crc32c(moved)];
}

/**
 * The sum of the lengths of the files of a chunk, which takes less time than the size of the
 * chunk; `undefined` if a file is missing or has another length than its part.
 */
async function sizeOf(
  { files }: InPlaceRun,
  array: InPlaceArray,
  coordinates: readonly number[],
): Promise<number | undefined> {
  let sum = 0;
  for (const { key, size } of array.oldPartsOf(coordinates)) {
    // Files that must not be links are checked later.
    const facts = await files.stat(key).catch(() => undefined);
    if (facts === undefined || facts.size !== (size ?? facts.size)) {
      return undefined;
    }
    sum += facts.size;
  }
  return sum;
}

/** Throws if a new name is taken, or a file must not be changed in place. */
async function assertReady(
  { files }: InPlaceRun,
  { renamed, data }: ChunkFiles,
): Promise<void> {
  const added = renamed.map(({ to }) => to);
  if (data && data.to !== data.from) added.push(data.to);
  for (const key of added) {
    if (await files.stat(key) !== undefined) throw takenError(key);
  }
  for (const { from } of renamed) await files.stat(from);
  const links = data && (await files.stat(data.from))?.links;
  if (links === undefined || links <= 1) return;
  throw new Error(
    `Cannot change ${
      describe(data!.from)
    } in place, since its file has ${links} names (hard links), and would change under all of them; convert to another place`,
  );
}

function takenError(key: StoreKey): Error {
  return new Error(
    `Cannot convert in place, since there is a file ${
      describe(key)
    } already, where the new layout needs one; remove it, or choose other keys`,
  );
}

/** The documents and the markers that are put in place later. */
function* stagedFiles(
  place: Place,
  state: InPlaceState,
): Iterable<readonly [StoreKey, Uint8Array]> {
  for (const [i, change] of state.documents.entries()) {
    for (const version of ["before", "interim", "after"] as const) {
      const text = change[version];
      if (text === undefined) continue;
      yield [
        stagedDocument(place, i, version),
        new TextEncoder().encode(text),
      ];
    }
  }
  for (const phase of ["join", "cut", "clean", "undo"] as const) {
    const marker = newInPlaceMarker({ ...state, phase });
    yield [stagedMarker(place, phase), encodeMarker(marker)];
  }
}

/**
 * Undoes the phase `prepare`: removes the files that were added for the new layout, and then
 * the state of the conversion.
 */
export async function undoPreparation(
  run: InPlaceRun,
  plan: ConvertPlan,
): Promise<void> {
  const { added } = await listInPlace(run, plan, {});
  const folders = new Set<FolderKey>();
  for (const key of added) {
    await run.files.remove(key);
    folders.add(folderOf(key));
  }
  await removeEmpty(run, folders);
  await removeState(run);
}

/**
 * The phase `join`: appends the bytes of parts that the new layout does not have to the files
 * of the unsized parts.
 */
export async function joinChunks(
  run: InPlaceRun,
  chunks: Iterable<RecordedChunk>,
): Promise<void> {
  const folders = new Set<FolderKey>();
  await run.forEach(
    filter(chunks, becomesLonger),
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
  const { from, oldSize, newSize } = data!;
  const moved = await readRecorded(run, chunk);
  // Readers that opened the array earlier must find parts missing, and no wrong bytes.
  for (const key of tail) {
    if (removed.includes(key) && await files.stat(key) !== undefined) {
      await files.rename(key, hiddenKey(key));
    }
    folders.add(folderOf(key));
  }
  const facts = await files.stat(from);
  const isExpected = facts && facts.size >= oldSize && facts.size <= newSize &&
    facts.links === 1;
  if (!isExpected) throw run.changedError(from);
  await files.extend(from, oldSize, moved);
  run.bytes += moved.length;
}

/** The phase `undo`: cuts the files that were made longer, and restores the earlier documents. */
export async function undoJoins(
  run: InPlaceRun,
  state: InPlaceState,
  chunks: Iterable<RecordedChunk>,
): Promise<void> {
  const { files } = run;
  const folders = new Set<FolderKey>();
  for (const { files: { data, tail } } of filter(chunks, becomesLonger)) {
    const facts = await files.stat(data!.from);
    if (facts && facts.size > data!.oldSize) {
      await files.cut(data!.from, data!.oldSize);
    }
    for (const key of tail) {
      if (await files.stat(hiddenKey(key)) === undefined) continue;
      await files.rename(hiddenKey(key), key);
      folders.add(folderOf(key));
    }
  }
  await files.sync(folders);
  await run.placeDocuments(state, "before");
}

/** The phase `cut`: cuts files, and gives files their new names. */
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
  const isRenamed = ({ array }: RecordedChunk) =>
    renamed.has(array.planned.path);
  const isChanged = (chunk: RecordedChunk) =>
    chunk.array.growth !== 0 || isRenamed(chunk);
  await run.forEach(filter(chunks, isChanged), async (chunk) => {
    const { array, files } = chunk;
    if (array.growth < 0) await cutChunk(run, chunk);
    const { data } = files;
    if (data && data.from !== data.to) await rename(data.from, data.to);
    if (!isRenamed(chunk)) return;
    for (const { from, to } of files.renamed) await rename(from, to);
  });
  await run.files.sync(folders);
}

async function cutChunk(run: InPlaceRun, chunk: RecordedChunk): Promise<void> {
  const { files } = run;
  const { from, to, oldSize, newSize } = chunk.files.data!;
  const facts = await files.stat(from);
  // An earlier run has cut and renamed the file.
  if (facts === undefined && from !== to) return;
  if (facts === undefined || facts.links > 1) throw run.changedError(from);
  if (facts.size === oldSize) {
    await readRecorded(run, chunk);
  } else if (facts.size !== newSize) throw run.changedError(from);
  await files.cut(from, newSize);
}

/** Renames a file, unless an earlier run has done so. */
async function renameOnce(
  run: InPlaceRun,
  from: StoreKey,
  to: StoreKey,
): Promise<void> {
  const { files } = run;
  if (await files.stat(from) !== undefined) return await files.rename(from, to);
  if (await files.stat(to) === undefined) throw run.changedError(from);
}

function becomesLonger({ array }: RecordedChunk): boolean {
  return array.growth > 0;
}

function* filter<T>(
  items: Iterable<T>,
  isWanted: (item: T) => boolean,
): Iterable<T> {
  for (const item of items) if (isWanted(item)) yield item;
}

/** The bytes of a chunk that move between its files: those that are cut off, or appended. */
async function readMoved(
  run: InPlaceRun,
  { data, tail }: ChunkFiles,
): Promise<Uint8Array> {
  if (data === undefined) return new Uint8Array();
  const { from, oldSize, newSize } = data;
  const count = Math.abs(newSize - oldSize);
  const moved = newSize < oldSize
    ? await run.files.read(from, newSize, count)
    : await readTail(run, tail, count);
  if (moved?.length === count) return moved;
  throw run.changedError(from);
}

/** The first bytes after the unsized part, from the tail parts or the files that these were renamed to. */
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

/** Reads the bytes that move again, and throws if they are not those that were recorded. */
async function readRecorded(
  run: InPlaceRun,
  { files, checksum }: RecordedChunk,
): Promise<Uint8Array> {
  const moved = await readMoved(run, files);
  if (crc32c(moved) === checksum) return moved;
  throw run.changedError(files.data!.from);
}

/** The phase `clean`: puts the new documents in place, and removes files of the earlier layout. */
export async function cleanUp(
  run: InPlaceRun,
  state: InPlaceState,
  chunks: Iterable<RecordedChunk> | undefined,
): Promise<void> {
  await run.hideV2Documents(state);
  await run.placeDocuments(state, "after");
  if (chunks !== undefined) {
    const folders = new Set<FolderKey>();
    await run.forEach(chunks, async (chunk) => {
      for (const folder of await removeOld(run, chunk)) folders.add(folder);
    });
    await removeEmpty(run, folders);
  }
  await removeState(run);
}

/** Removes the files of a chunk that the new layout does not have. Returns their folders. */
async function removeOld(
  run: InPlaceRun,
  { array, files: { data, tail, removed, renamed } }: RecordedChunk,
): Promise<FolderKey[]> {
  const { files } = run;
  for (const { from, to } of renamed) {
    const [old, now] = [await files.stat(from), await files.stat(to)];
    // The old name must not lead to a newer file than the new name.
    if (old && old.ino !== now?.ino) throw run.changedError(from);
  }
  for (const key of removed) {
    const isHidden = array.growth > 0 && tail.includes(key);
    await files.remove(isHidden ? hiddenKey(key) : key);
  }
  return [...removed, ...data ? [data.from] : []].map(folderOf);
}

/** Removes empty folders, and the empty folders above them. */
async function removeEmpty(
  { files, place }: InPlaceRun,
  folders: ReadonlySet<FolderKey>,
): Promise<void> {
  const remaining = new Set<FolderKey>();
  for (let folder of folders) {
    while (
      folder.length > place.root.length && await files.removeFolder(folder)
    ) folder = folderOf(folder as StoreKey);
    remaining.add(folder);
  }
  await files.sync(remaining);
}

/** Removes the files that the conversion itself needed, the marker last. */
async function removeState(
  { files, place }: InPlaceRun,
): Promise<void> {
  const folder = stagedFolder(place);
  const staged: StoreKey[] = [];
  for await (const key of place.store.list!(`${folder}/`)) staged.push(key);
  for (const key of staged) await files.remove(key);
  await files.removeFolder(folder);
  await files.remove(markerKey(place.root));
  await files.sync([place.root]);
}
