import { crc32c } from "../../checksum/mod.ts";
import { describe } from "../../errors/mod.ts";
import { runConcurrently } from "../../runtime/mod.ts";
import { assertFileSize, decodeFileRecord } from "../../shards/mod.ts";
import type { FolderKey, StoreKey, StoreOptions } from "../../stores/mod.ts";
import type { ConvertPlan } from "../convert/convert_plan.ts";
import {
  encodeMarker,
  markerKey,
  newInPlaceMarker,
  readMarker,
} from "../convert/unfinished_marker.ts";
import type { ChunkList } from "../hierarchy/array_keys.ts";
import {
  describePlace,
  documentKey,
  type Place,
} from "../hierarchy/node_location.ts";
import { readMoved } from "./change.ts";
import { type InPlaceListing, listInPlace } from "./clean.ts";
import type { ChunkFiles, InPlaceArray } from "./layout.ts";
import { foldersOf, type InPlaceRun, recordOf } from "./run.ts";
import {
  changedKey,
  type DocumentChange,
  type InPlacePhase,
  type InPlaceState,
  recordKey,
  stagedDocument,
  stagedFolder,
  stagedMarker,
} from "./state.ts";

/** The chunks of the arrays of a run. */
export type ListedChunks = ReadonlyMap<InPlaceArray, ChunkList>;

/** The phases that begin with the file of a marker that was written before. */
const LATER: readonly InPlacePhase[] = ["join", "cut", "clean", "undo"];

/**
 * Adds the files that the new layout needs, and writes all that the later phases need, so
 * that these take no space on the disk but that of joined files.
 */
export async function prepare(
  run: InPlaceRun,
  chunks: ListedChunks,
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
  const isClosed = (array: InPlaceArray) =>
    array.growth !== 0 || renamed.has(array);
  const closed = new Map(
    run.arrays.map((array) => [array.planned.path, isClosed(array)]),
  );
  const isAnyClosed = [...closed.values()].includes(true);
  const state: InPlaceState = {
    phase: "prepare",
    ...others,
    documents: documents.map(({ meanwhile, ...document }) => ({
      ...document,
      meanwhile: closed.get(document.path) ?? isAnyClosed
        ? meanwhile
        : undefined,
    })),
    arrays: run.arrays.map((array) => ({
      path: array.planned.path,
      count: records.get(array)!.count,
      isRenamed: renamed.has(array),
    })),
  };
  const numbers = run.arrays.map((array) => records.get(array)!.numbers);
  const record = new Blob(numbers as Float64Array<ArrayBuffer>[]);
  // The first file creates the folder of all.
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
  chunks: ListedChunks,
): Iterable<[InPlaceArray, readonly number[]]> {
  for (const [array, list] of chunks) {
    for (const coordinates of list) yield [array, coordinates];
  }
}

/** Adds the new files of a chunk. Returns its length, and the checksum of the bytes that move between files. */
async function prepareChunk(
  run: InPlaceRun,
  array: InPlaceArray,
  coordinates: readonly number[],
  renamed: Set<InPlaceArray>,
  folders: Set<FolderKey>,
): Promise<[size: number, checksum: number]> {
  const { files, signal } = run;
  const options: StoreOptions = signal ? { signal } : {};
  const { source } = array.planned;
  array.assertNoCollision(coordinates);
  const size = await sizeOf(run, array, coordinates) ??
    await source.size(coordinates, options);
  if (size === undefined) throw run.changed(source.key(coordinates));
  const changes = array.filesOf(coordinates, size);
  await assertReady(run, changes);
  const read = async (offset: number, length: number) => {
    if (length === 0) return new Uint8Array();
    const range = { offset, length };
    const bytes = await source.getRange(coordinates, range, options);
    if (bytes?.length === length) return bytes;
    throw run.changed(source.key(coordinates));
  };
  const note = (key: StoreKey) => {
    for (const folder of foldersOf(key, run.place)) folders.add(folder);
  };
  for (const { from, to } of changes.renamed) {
    if (!renamed.has(array) && !await files.link(from, to)) renamed.add(array);
    note(to);
  }
  const moved = await readMoved(run, changes);
  const { data, written } = changes;
  const record = decodeFileRecord(moved.subarray(0, array.recordSize));
  if (data && record) assertFileSize(record, data.from, data.old);
  // The offset in the chunk of the bytes that move.
  const start = data ? data.offset + Math.min(data.old, data.new) : 0;
  for (const { to, offset, length } of written) {
    const end = offset - start + length;
    const bytes = offset >= start && end <= moved.length
      ? moved.subarray(offset - start, end)
      : await read(offset, length);
    if (!await files.create(to, bytes)) {
      await files.stat(to); // Refuses folders and links.
      throw taken(to);
    }
    run.bytes += length;
    note(to);
  }
  return [size, crc32c(moved)];
}

/**
 * The length of a chunk by those of its files, which takes less time than reading a group;
 * `undefined` if they do not tell it, so that the chunk has to be asked.
 */
async function sizeOf(
  { files }: InPlaceRun,
  array: InPlaceArray,
  coordinates: readonly number[],
): Promise<number | undefined> {
  const parts = array.oldPartsOf(coordinates);
  if (parts === undefined) return undefined;
  let sum = 0;
  for (const { key, size } of parts) {
    // Links are refused later, where they matter.
    const facts = await files.stat(key).catch(() => undefined);
    if (facts === undefined || facts.size !== (size ?? facts.size)) {
      return undefined;
    }
    sum += facts.size;
  }
  return sum;
}

/** Refuses new names that are taken, and files that must not be changed in place. */
async function assertReady(
  { files }: InPlaceRun,
  { renamed, data }: ChunkFiles,
): Promise<void> {
  const added = renamed.map(({ to }) => to);
  if (data && data.to !== data.from) added.push(data.to);
  for (const key of added) {
    if (await files.stat(key) !== undefined) throw taken(key);
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

function taken(key: StoreKey): Error {
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
    for (const version of ["before", "meanwhile", "after"] as const) {
      const text = change[version];
      if (text === undefined) continue;
      yield [
        stagedDocument(place, i, version),
        new TextEncoder().encode(text),
      ];
    }
  }
  for (const phase of LATER) {
    const marker = newInPlaceMarker({ ...state, phase });
    yield [stagedMarker(place, phase), encodeMarker(marker)];
  }
}

/** Refuses documents that are links, and folders that listings leave out since links lead to them. */
export async function assertUnlinked(
  { files, place }: InPlaceRun,
  documents: readonly DocumentChange[],
): Promise<void> {
  for (const change of documents) await files.stat(changedKey(place, change)!);
  const linked = await files.findLinkedFolder(place.root);
  if (linked === undefined) return;
  throw new Error(
    `Cannot convert ${describePlace(place)} in place: ${
      describe(linked)
    } is a symbolic link to a folder, whose files would not be converted; convert to another place`,
  );
}

/** Refuses nodes above or below of which another conversion is unfinished. */
export async function assertAlone(
  place: Place,
  { nodes }: ConvertPlan,
  options: StoreOptions,
): Promise<void> {
  const roots: ("" | StoreKey)[] = [];
  for (let root = place.root as string; root !== "";) {
    root = root.slice(0, root.lastIndexOf("/"));
    roots.push(root as StoreKey);
  }
  for (const { path } of nodes) {
    if (path === "") continue;
    const key = documentKey(place, path);
    roots.push(key.slice(0, -"/zarr.json".length) as StoreKey);
  }
  for (const root of roots) {
    const marker = await readMarker({ ...place, root }, options);
    if (marker === undefined) continue;
    throw new Error(
      `Cannot convert ${
        describePlace(place)
      } in place, since another conversion is unfinished: ${
        describe(markerKey(root))
      }`,
    );
  }
}

/** Refuses files that are where the new layout needs a file or a folder. */
export function assertFree({ added, chunks, others }: InPlaceListing): void {
  const [key] = added;
  if (key !== undefined) {
    throw new Error(
      `The file ${
        describe(key)
      } is no chunk, and would be one in the new layout; remove it, or choose other keys`,
    );
  }
  for (const [array, list] of chunks) {
    for (const coordinates of list) {
      array.assertNoFolderClash(coordinates, others);
    }
    for (const other of others) {
      array.assertFolders(other, (folder) => array.newKeys.isTaken(folder));
    }
  }
}

/** Refuses a store that lacks a group above whose document changes, too. */
export function assertReachable(
  place: Place,
  { documents }: InPlaceState,
): void {
  if (documents.every((change) => changedKey(place, change))) return;
  throw new RangeError(
    `Cannot finish the conversion of ${
      describePlace(place)
    } in place, since it also changes a group above; expected a store that holds that group, as in the run before`,
  );
}

/** Refuses to go on if another program has written to the arrays. */
export async function assertUnchanged(
  run: InPlaceRun,
  plan: ConvertPlan,
  { documents }: InPlaceState,
  { fingerprint }: InPlaceListing,
): Promise<void> {
  const { place, signal } = run;
  const options: StoreOptions = signal ? { signal } : {};
  for (const change of documents) {
    const key = changedKey(place, change)!;
    const bytes = await place.store.get(key, options);
    if (
      new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes) !==
        change.before
    ) {
      throw run.changed(key);
    }
  }
  const listed = await listInPlace(run, plan, options);
  if (listed.fingerprint === fingerprint) return;
  throw run.changed(documentKey(place, ""));
}
