import { UnfinishedWriteError } from "../../errors/mod.ts";
import {
  type ByteRange,
  resolveByteRange,
  type StoreKey,
  type StoreOptions,
  type StoreVersion,
} from "../store.ts";
import {
  type Awaitable,
  type Files,
  type FileState,
  type Folders,
  type FoundFile,
  isSameState,
  type OpenFile,
} from "./files.ts";
import type { OpenFiles } from "./reading.ts";

/** The place of a file whose key leads to it without links. */
export interface DirectPlace {
  readonly files: Files;
  readonly path: string;
}

/**
 * The version of a value in a file. A young file is held open, so that no later file
 * gets its inode number.
 */
export class FileVersion implements StoreVersion {
  readonly #state: FileState;
  readonly #place: DirectPlace | undefined;
  #held: OpenFile | undefined;

  constructor(state: FileState, place?: DirectPlace, held?: OpenFile) {
    this.#state = state;
    this.#place = place;
    this.#held = held;
  }

  get isLasting(): boolean {
    return this.#held === undefined;
  }

  get size(): number {
    return this.#state.size;
  }

  /** Held files have no tag, since later files may get their inode numbers. */
  get tag(): string | undefined {
    const { ino, mtime } = this.#state;
    return this.isLasting ? `${ino ?? 0}-${mtime}` : undefined;
  }

  get modified(): number {
    return this.#state.mtime;
  }

  /** Whether an open file is the one of this version. */
  isOf(file: OpenFile): boolean {
    return isSameState(this.#state, file.stat());
  }

  readNow(offset: number, memory: Uint8Array): boolean {
    const { files, path } = this.#place ?? {};
    return files?.readNow?.(path!, this.#state, offset, memory) ?? false;
  }

  release(): void {
    this.#held?.close();
    this.#held = undefined;
  }
}

/** Where the files of versions are. */
interface VersionPlace {
  readonly files: Files;
  readonly openFiles: OpenFiles;
  readonly root: Folders;
}

/** Reads a range of a version of a value; returns `undefined` if another file is there, or none. */
export async function readRangeOf(
  place: VersionPlace,
  version: StoreVersion,
  key: StoreKey,
  range: ByteRange,
  options: StoreOptions,
): Promise<Uint8Array | undefined> {
  return await place.openFiles.run(1, async () => {
    const file = await openVersion(place, version, key, options);
    try {
      return await file?.read(key, range, options);
    } finally {
      file?.close();
    }
  });
}

/** The number of bytes that a stream reads at once. */
const PIECE = 256 * 1024;

/** Opens a range of a version of a value as a stream; returns `undefined` if another file is there, or none. */
export async function streamRangeOf(
  place: Omit<VersionPlace, "openFiles">,
  version: StoreVersion,
  key: StoreKey,
  range: ByteRange,
  options: StoreOptions,
): Promise<ReadableStream<Uint8Array> | undefined> {
  const file = await openVersion(place, version, key, options);
  if (file === undefined) return undefined;
  let { start, end } = resolveByteRange(range, await file.size());
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        if (start < end) {
          const piece = { offset: start, length: Math.min(end - start, PIECE) };
          controller.enqueue(await file.read(key, piece, options));
          start += piece.length;
        }
        if (start < end) return;
        file.close();
        controller.close();
      } catch (error) {
        file.close();
        throw error;
      }
    },
    cancel: () => file.close(),
  }, { highWaterMark: 0 });
}

/** Opens the file of a version. */
async function openVersion(
  { files, root }: Omit<VersionPlace, "openFiles">,
  version: StoreVersion,
  key: StoreKey,
  options: StoreOptions,
): Promise<OpenFile | undefined> {
  const found = await root.find(key, options);
  const file = found && await files.open(found.path);
  if (!file) return undefined;
  if (version instanceof FileVersion && version.isOf(file)) return file;
  file.close();
}

/** The number of times that the same files are found without the others, until the others count as missing. */
const SIGHTINGS = 3;
/** How long a reader waits for writers, in milliseconds. */
const LONGEST_WAIT = 2_500;

/** The files of a chunk. */
export interface GroupPaths {
  /** Where each file is, the last in storing order last; `undefined` for a folder that is absent. */
  readonly files: readonly (FoundFile | undefined)[];
  /** Where the journal is; `undefined` if its folder is absent. */
  journal(): Awaitable<string | undefined>;
}

/** The files of a chunk that are open. */
export interface OpenGroup {
  /** The files in the order of their paths, `undefined` for absent ones. */
  readonly files: readonly (OpenFile | undefined)[];
  /** Whether some files are there and others are not. The files may belong to different writes then. */
  readonly isIncomplete: boolean;
}

/**
 * Opens the files of a chunk, all of the same write. The last file in storing order is
 * absent while a writer changes the others. So if the path of that file leads to the
 * same file before and after the others are opened, all files belong to one write. The
 * file stays open meanwhile, so that no other file gets its inode number.
 *
 * Files are missing for good if three tries find the same other files, and no journal in
 * between. If writers were at work at each try, they would be three different ones, and
 * the second of them would have replaced the files between the first try and the third.
 *
 * @param locate Tells where the files are; called for each try.
 * @param key The key of the chunk, for messages.
 * @throws {UnfinishedWriteError} If a writer does not come to its end in time.
 */
export async function openGroup(
  files: Files,
  locate: () => Awaitable<GroupPaths>,
  key: string,
  signal?: AbortSignal,
): Promise<OpenGroup> {
  const deadline = files.now() + LONGEST_WAIT;
  let pause = 0.1;
  // Stay open, so that no other files get their inode numbers.
  let earlier: readonly (OpenFile | undefined)[] = [];
  let sightings = 0;
  try {
    while (true) {
      signal?.throwIfAborted();
      const paths = await locate();
      const opened = await tryOpen(files, paths.files);
      if (opened.isOneWrite) return opened;
      const isSame = sightings > 0 && opened.isIncomplete &&
        haveSameFiles(earlier, opened.files);
      await closeAll(earlier);
      earlier = opened.files;
      sightings = isSame ? sightings + 1 : 1;
      if (sightings === SIGHTINGS) {
        earlier = [];
        return opened;
      }
      const isBeingWritten = !opened.isIncomplete ||
        await isThere(files, await paths.journal());
      if (isBeingWritten) sightings = 0;
      if (files.now() > deadline) throw new UnfinishedWriteError(key);
      await files.wait(pause, signal);
      pause = Math.min(50, 2 * pause);
    }
  } finally {
    await closeAll(earlier);
  }
}

function haveSameFiles(
  before: readonly (OpenFile | undefined)[],
  after: readonly (OpenFile | undefined)[],
): boolean {
  return before.every((file, i) =>
    file === undefined
      ? after[i] === undefined
      : isSameState(file.stat(), after[i]?.stat())
  );
}

/** Files that were opened one after another. */
interface Opened extends OpenGroup {
  /** Whether the files belong to one write, or are all absent. */
  readonly isOneWrite: boolean;
}

async function isThere(
  files: Files,
  path: string | undefined,
): Promise<boolean> {
  return path !== undefined && await files.stat(path) !== undefined;
}

async function tryOpen(
  files: Files,
  found: readonly (FoundFile | undefined)[],
): Promise<Opened> {
  const opened: (OpenFile | undefined)[] = new Array(found.length).fill(
    undefined,
  );
  try {
    // The last file is opened first.
    for (let i = found.length; i-- > 0;) {
      const path = found[i]?.path;
      if (path !== undefined) opened[i] = await files.open(path);
    }
    // Links may lead elsewhere by now.
    const areCurrent = opened.every((file, i) =>
      file === undefined || found[i]!.leadsTo?.(file.stat()) !== false
    );
    if (!areCurrent) {
      return { files: opened, isOneWrite: false, isIncomplete: false };
    }
    const absent = opened.filter((file) => file === undefined).length;
    if (absent > 0 || found.length === 1) {
      const isOneWrite = absent === found.length || found.length === 1;
      return { files: opened, isOneWrite, isIncomplete: !isOneWrite };
    }
    const isOneWrite = isSameState(
      await opened.at(-1)!.stat(),
      await files.stat(found.at(-1)!.path),
    );
    return { files: opened, isOneWrite, isIncomplete: false };
  } catch (error) {
    await closeAll(opened);
    throw error;
  }
}

/** Closes files that are open. */
export async function closeAll(
  files: Iterable<OpenFile | undefined>,
): Promise<void> {
  for (const file of files) await file?.close();
}
