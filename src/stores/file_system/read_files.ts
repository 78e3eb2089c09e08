// deno-lint-ignore-file require-await -- Errors of the methods are rejections.
import {
  assertSizeLimit,
  DamageError,
  UnfinishedWriteError,
} from "../../errors/mod.ts";
import type { ReadOptions, Snapshot, ValuesOptions } from "../backend.ts";
import { offerShortcut } from "../byte_streams.ts";
import {
  type ByteRange,
  type ByteReader,
  resolveByteRange,
  type StoreKey,
  type StoreOptions,
  type StoreVersion,
} from "../store.ts";
import { journalName, splitPath } from "../store_key.ts";
import type { Folders } from "./root.ts";
import {
  type FileState,
  isSameState,
  type OpenFile,
  type OpenFiles,
  type System,
} from "./system.ts";

/** What the operations on the files of a store have in common. */
export interface FileContext {
  readonly system: System;
  readonly root: Folders;
  /** Limits how many files are open. */
  readonly openFiles: OpenFiles;
  /** Whether writers wait until everything is on the disk. */
  readonly isSynced: boolean;
  /** Called with the key of a chunk when the change that a killed writer had begun is finished. */
  readonly onRecovery?:
    | ((chunk: StoreKey, isDeleted: boolean) => void)
    | undefined;
}

/**
 * Runs a task on a snapshot of files: all of the same write. Files are opened when the task
 * asks for them, since most tasks read one of them.
 *
 * @param isLocked Whether the caller keeps writers out. The task may then read the files of a
 * chunk that lacks others, since it may replace them.
 */
export async function readFiles<T>(
  context: FileContext,
  keys: readonly StoreKey[],
  task: (values: Snapshot) => Promise<T>,
  options: ValuesOptions = {},
  isLocked = false,
): Promise<T> {
  options.signal?.throwIfAborted();
  // Under the lock, an operation must not wait for others.
  const taken = isLocked ? undefined : context.openFiles.take(keys.length);
  const release = taken instanceof Promise ? await taken : taken;
  try {
    const lazy = new FileSnapshot(context, keys, options, isLocked);
    try {
      return await lazy.run(task);
    } catch (error) {
      if (!(error instanceof SeveralWritesError)) throw error;
    }
    const openedAt = context.system.now();
    const { files, isIncomplete } = await openAll(context, keys, options);
    const all = new FileSnapshot(
      context,
      keys,
      options,
      false,
      files,
      openedAt,
    );
    const result = await all.run(task);
    if (isIncomplete) throw incompleteError(keys, files, options);
    return result;
  } finally {
    release?.();
  }
}

/** Reads a range of the file of a version; `undefined` if the key has another file, or none. */
export async function readFileOf(
  { system, root, openFiles }: FileContext,
  version: StoreVersion,
  key: StoreKey,
  range: ByteRange,
  options: StoreOptions & ReadOptions = {},
): Promise<Uint8Array | undefined> {
  options.signal?.throwIfAborted();
  if (!(version instanceof FileVersion)) return undefined;
  const taken = openFiles.take(1);
  const release = taken instanceof Promise ? await taken : taken;
  try {
    // A path that still leads to the known file is not checked for links.
    const path = root.path + key;
    const isKnown = isSameState(version.state, await system.stat(path));
    const file = await (isKnown ? system.open(path) : root.open(key));
    try {
      return isSameState(version.state, file?.stat())
        ? await readRange(file!, key, range, options, options.signal)
        : undefined;
    } finally {
      file?.close();
    }
  } finally {
    release();
  }
}

/** The files of several keys, in the order of the keys; `undefined` for absent ones. */
type Files = readonly (OpenFile | undefined)[];

/** Files that were opened one after another. */
interface Opened {
  readonly files: Files;
  /** Whether the files belong to one write, or are all absent. */
  readonly isOneWrite: boolean;
  /** Whether some files are there and others are not. The files may belong to different writes then. */
  readonly isIncomplete: boolean;
}

/** The number of times that the same files are there without the others, until the others count as missing. */
const MOST_INCOMPLETE = 3;
/** How long a reader waits for writers, in milliseconds. */
const LONGEST_WAIT = 2_500;

/**
 * Opens files, all of the same write, and waits for writers.
 *
 * Files count as missing if three tries find the same other files, and no journal between
 * the tries. If a writer were at work at each try, these would be three different writers,
 * and the second one would have replaced the files between the first try and the third.
 *
 * @throws {UnfinishedWriteError} If a writer does not come to its end in time.
 */
async function openAll(
  context: FileContext,
  keys: readonly StoreKey[],
  { signal, name = keys[0]! }: ValuesOptions,
): Promise<Opened> {
  const { system, root } = context;
  const deadline = system.now() + LONGEST_WAIT;
  let pause = 0.1;
  let incompleteTries = 0;
  // The files of the last try stay open, so that no other files get their inode numbers.
  let files: Files = [];
  try {
    while (true) {
      const opened = tryOpen(root, keys);
      if (opened.isOneWrite) return opened;
      const isSame = incompleteTries > 0 &&
        files.every((file, i) => isSameFile(file, opened.files[i]));
      closeAll(files);
      files = opened.files;
      // Files that are all there were replaced between the looks at the last one.
      if (!opened.isIncomplete) incompleteTries = 0;
      else incompleteTries = isSame ? incompleteTries + 1 : 1;
      if (incompleteTries === MOST_INCOMPLETE) {
        files = [];
        return opened;
      }
      if (incompleteTries > 0 && await isBeingWritten(context, name)) {
        incompleteTries = 0;
      }
      if (system.now() > deadline) throw new UnfinishedWriteError(name);
      await system.wait(pause, signal);
      pause = Math.min(50, 2 * pause);
      signal?.throwIfAborted();
    }
  } finally {
    closeAll(files);
  }
}

/**
 * Opens files. The last file in storing order is absent while a writer changes the others. So
 * if its key leads to the same file before and after the others are opened, all files belong
 * to one write. The file stays open until then, so that no other file gets its inode number.
 *
 * @param earlier Files that are open already. Their keys must still lead to them.
 */
function tryOpen(
  root: Folders,
  keys: readonly StoreKey[],
  earlier: readonly (OpenFile | null | undefined)[] = [],
): Opened {
  const files = keys.map((_, i) => earlier[i] ?? undefined);
  try {
    // The last file is opened first.
    for (let i = keys.length; i-- > 0;) files[i] ??= root.open(keys[i]!);
    const present = files.filter((file) => file !== undefined).length;
    if (present < keys.length) {
      return { files, isOneWrite: present === 0, isIncomplete: present > 0 };
    }
    const last = keys.length - 1;
    const isOneWrite = keys.every((key, i) =>
      i < last && !earlier[i] || isSameState(files[i]!.stat(), root.state(key))
    );
    return { files, isOneWrite, isIncomplete: false };
  } catch (error) {
    closeAll(files.filter((_, i) => !earlier[i]));
    throw error;
  }
}

/** Whether a writer is at work on the files of a chunk, or was killed. */
export async function isBeingWritten(
  { system, root }: FileContext,
  chunk: StoreKey,
): Promise<boolean> {
  const { folder, name } = splitPath(chunk);
  const path = `${root.path}${folder}/${await journalName(name)}`;
  return await system.stat(path) !== undefined;
}

function isSameFile(
  before: OpenFile | undefined,
  after: OpenFile | undefined,
): boolean {
  return before === undefined
    ? after === undefined
    : isSameState(before.stat(), after?.stat());
}

function closeAll(files: readonly (OpenFile | null | undefined)[]): void {
  for (const file of files) file?.close();
}

/** Thrown in a task whose files are not all of one write. The task is run again on files that are. */
class SeveralWritesError extends Error {}

/** Files, all of one write, which are opened when they are asked for. */
class FileSnapshot implements Snapshot {
  readonly #context: FileContext;
  readonly #keys: readonly StoreKey[];
  readonly #signal: AbortSignal | undefined;
  readonly #isLocked: boolean;
  /** The open files in the order of the keys: `null` for absent ones, and nothing before a file is asked for. */
  #files: (OpenFile | null | undefined)[];
  /** A time before the files were opened, in milliseconds. */
  readonly #openedAt: number;
  /** The versions that hold files open. */
  #versions: Map<StoreKey, FileVersion> | undefined;
  /** Functions that close files which outlive the task. */
  #releases: (() => void)[] | undefined;

  /** @param opened All files, if they have been opened, which was after `openedAt`. */
  constructor(
    context: FileContext,
    keys: readonly StoreKey[],
    { signal }: StoreOptions,
    isLocked: boolean,
    opened: Files = [],
    openedAt: number = context.system.now(),
  ) {
    this.#context = context;
    this.#keys = keys;
    this.#signal = signal;
    this.#isLocked = isLocked;
    this.#openedAt = openedAt;
    this.#files = opened.map((file) => file ?? null);
  }

  /** Runs a task, and closes the files afterwards. */
  async run<T>(task: (values: Snapshot) => Promise<T>): Promise<T> {
    try {
      return await task(this);
    } catch (error) {
      // Nobody gets the streams and versions of a task that has failed.
      for (const release of this.#releases ?? []) release();
      throw error;
    } finally {
      closeAll(this.#files);
    }
  }

  async size(key: StoreKey): Promise<number | undefined> {
    return this.#find(key)?.size();
  }

  async read(
    key: StoreKey,
    range?: ByteRange,
    options?: ReadOptions,
  ): Promise<Uint8Array | undefined> {
    const file = this.#find(key);
    if (file === undefined) return undefined;
    return await readRange(file, key, range, options, this.#signal);
  }

  async stream(
    key: StoreKey,
    range?: ByteRange,
  ): Promise<ReadableStream<Uint8Array> | undefined> {
    const file = this.#find(key);
    if (file === undefined) return undefined;
    file.retain();
    const reader = new FileReader(file, range);
    (this.#releases ??= []).push(() => reader.close());
    return reader.toStream();
  }

  version(key: StoreKey): StoreVersion | undefined {
    const file = this.#find(key);
    if (file === undefined) return undefined;
    const state = file.stat();
    if (isOld(state, this.#openedAt)) return new FileVersion(state);
    const known = this.#versions?.get(key);
    if (known !== undefined) return known;
    file.retain();
    const version = new FileVersion(state, file);
    (this.#versions ??= new Map()).set(key, version);
    (this.#releases ??= []).push(() => version.release());
    return version;
  }

  /** Finds the open file of a key. The first file is opened by itself, and a second one with all. */
  #find(key: StoreKey): OpenFile | undefined {
    this.#signal?.throwIfAborted();
    const i = this.#keys.indexOf(key);
    const known = this.#files[i];
    if (known !== undefined) return known ?? undefined;
    const isOnly = this.#isLocked || this.#keys.length === 1;
    if (isOnly || this.#files.length === 0) {
      const file = this.#context.root.open(key);
      if (isOnly || file !== undefined) {
        this.#files[i] = file ?? null;
        return file;
      }
    }
    this.#openAll();
    return this.#files[i] ?? undefined;
  }

  #openAll(): void {
    const earlier = this.#files;
    const { files, isOneWrite } = tryOpen(
      this.#context.root,
      this.#keys,
      earlier,
    );
    if (!isOneWrite) {
      closeAll(files.filter((_, i) => !earlier[i]));
      throw new SeveralWritesError();
    }
    this.#files = files.map((file) => file ?? null);
  }
}

/** The age in milliseconds from which no later file can have the state of a file: file systems have coarse clocks. */
const OLD = 2_000;

/** Whether a file was so old at a time that its state differs from those of all files that replace it later. */
function isOld({ mtime }: FileState, time: number): boolean {
  return mtime + OLD <= time;
}

/**
 * The version of a value in a file. A file that was written a moment ago is held open, so
 * that no later file gets its inode number.
 */
class FileVersion implements StoreVersion {
  readonly state: FileState;
  #held: OpenFile | undefined;

  constructor(state: FileState, held?: OpenFile) {
    this.state = state;
    this.#held = held;
  }

  get isLasting(): boolean {
    return this.#held === undefined;
  }

  get size(): number {
    return this.state.size;
  }

  /** Held files have no tag, since later files may get their inode numbers. */
  get tag(): string | undefined {
    const { ino, mtime } = this.state;
    return this.isLasting ? `${ino ?? 0}-${mtime}` : undefined;
  }

  get modified(): number {
    return this.state.mtime;
  }

  release(): void {
    this.#held?.close();
    this.#held = undefined;
  }
}

/** The longest range that is read without asking for the size of the file. */
const SHORT_RANGE = 64 * 1024;
/** A length that files of all systems can have. Beyond the greatest one, seeking fails. */
const USUAL_LENGTH = 2 ** 40;

/** Reads a range of an open file, or all of it. */
async function readRange(
  file: OpenFile,
  key: StoreKey,
  range: ByteRange | undefined,
  { limit, allocate }: ReadOptions = {},
  signal?: AbortSignal,
): Promise<Uint8Array> {
  const isShort = range && "offset" in range &&
    range.length <= SHORT_RANGE && range.offset <= USUAL_LENGTH;
  if (isShort) {
    // Reading takes as long as asking for the size before.
    const bytes = allocate?.(range.length) ?? new Uint8Array(range.length);
    const filling = file.fill(bytes, range.offset, signal);
    const filled = filling instanceof Promise ? await filling : filling;
    signal?.throwIfAborted();
    return filled === bytes.length ? bytes : bytes.slice(0, filled);
  }
  const size = file.size();
  if (range === undefined) assertSizeLimit(key, limit, size);
  const { start, end } = range === undefined
    ? { start: 0, end: size }
    : resolveByteRange(range, size);
  const bytes = allocate?.(end - start) ?? new Uint8Array(end - start);
  const filling = file.fill(bytes, start, signal);
  const filled = filling instanceof Promise ? await filling : filling;
  signal?.throwIfAborted();
  if (filled === bytes.length) return bytes;
  throw new Error(
    `Key ${
      JSON.stringify(key)
    } names a file that was cut short while it was read, to ${
      start + filled
    } bytes: expected ${size}`,
  );
}

/** The number of bytes that a stream reads at once. */
const PIECE = 256 * 1024;

/** Reads a range of an open file in pieces, and closes the file. */
class FileReader implements ByteReader {
  readonly #file: OpenFile;
  readonly #end: number;
  #position: number;
  #isOpen = true;

  constructor(file: OpenFile, range: ByteRange | undefined) {
    const size = file.size();
    const { start, end } = range === undefined
      ? { start: 0, end: size }
      : resolveByteRange(range, size);
    this.#file = file;
    this.#position = start;
    this.#end = end;
  }

  async read(memory: Uint8Array): Promise<number | null> {
    const piece = memory.subarray(0, this.#end - this.#position);
    if (piece.length === 0) return null;
    const read = await this.#file.fill(piece, this.#position);
    if (read < piece.length) {
      throw new Error(
        `A file was cut short while it was read, to ${
          this.#position + read
        } bytes: expected ${this.#end}`,
      );
    }
    this.#position += read;
    return read;
  }

  close(): void {
    if (this.#isOpen) this.#file.close();
    this.#isOpen = false;
  }

  toStream(): ReadableStream<Uint8Array> {
    const stream = new ReadableStream({
      type: "bytes",
      autoAllocateChunkSize: PIECE,
      pull: async (controller) => {
        try {
          const request = controller.byobRequest!;
          const read = await this.read(request.view as Uint8Array);
          if (read === null) {
            this.close();
            controller.close();
          }
          request.respond(read ?? 0);
        } catch (error) {
          this.close();
          throw error;
        }
      },
      cancel: () => this.close(),
    });
    return offerShortcut(stream, { reader: this });
  }
}

function incompleteError(
  keys: readonly StoreKey[],
  files: Files,
  { name = keys[0]! }: ValuesOptions,
): Error {
  const missing = keys.filter((_, i) => files[i] === undefined);
  return new DamageError(
    `Chunk ${JSON.stringify(name)} lacks ${
      JSON.stringify(missing)
    }: a chunk is stored with all of its parts or not at all`,
    { key: name },
  );
}
