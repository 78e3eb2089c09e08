import { UnfinishedWriteError } from "../../errors/mod.ts";
import { discard } from "../byte_streams.ts";
import { assertInGroup } from "../capabilities.ts";
import {
  assertByteRange,
  type ByteRange,
  type GetOptions,
  type GroupValues,
  type StoreKey,
  type StoreOptions,
  type StoreVersion,
} from "../store.ts";
import { type DirectPlace, FileVersion } from "./file_version.ts";
import {
  type Awaitable,
  type Files,
  type FoundFile,
  isOld,
  isSameState,
  type OpenFile,
} from "./files.ts";
import { WHOLE } from "./read_files.ts";

/** The number of times that the same files are found without the others, until the others count as missing. */
const SIGHTINGS = 3;
/** How long a reader waits for writers, in milliseconds. */
const LONGEST_WAIT = 2_500;

/** The files of a chunk. */
interface GroupPaths {
  /** Where each file is, the last in storing order last; `undefined` for a folder that is absent. */
  readonly files: readonly (FoundFile | undefined)[];
  /** Where the journal is; `undefined` if its folder is absent. */
  journal(): Awaitable<string | undefined>;
}

/** The files of a chunk that are open. */
interface OpenGroup {
  /** The files in the order of their paths, `undefined` for absent ones. */
  readonly files: readonly (OpenFile | undefined)[];
  /** Whether some files are there and others are not. The files may belong to different writes then. */
  readonly isIncomplete: boolean;
}

/**
 * Opens the files of a chunk, all of the same write. The last file in storing order is
 * absent while a writer changes the others. So if the path of that file leads to the
 * same file before and after the others are opened, all files belong to one write. The
 * file stays open until then, so that no other file gets its inode number.
 *
 * Files count as missing if three tries find the same other files, and no journal between
 * the tries. If a writer were at work at each try, these would be three different writers,
 * and the second one would have replaced the files between the first try and the third.
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
  // The files of the last try stay open, so that no other files get their inode numbers.
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
async function closeAll(
  files: Iterable<OpenFile | undefined>,
): Promise<void> {
  for (const file of files) await file?.close();
}

/** The open files of a chunk, all of one write. */
export class FileGroupValues implements GroupValues {
  readonly #keys: readonly StoreKey[];
  readonly #files: readonly (OpenFile | undefined)[];
  readonly #openedAt: number;
  readonly #places: readonly (DirectPlace | undefined)[];
  /** The versions that were told, by their files. */
  readonly #versions = new Map<OpenFile, FileVersion>();
  /** The streams that were opened, by their files. */
  readonly #streams = new Map<OpenFile, ReadableStream<Uint8Array>>();
  /** The latest reading of each file. The next one waits for it, since an open file has one position. */
  readonly #readings = new Map<OpenFile, Promise<unknown>>();

  /**
   * @param openedAt A time before the files were opened, in milliseconds.
   * @param places Where the files are, `undefined` for absent files and behind links.
   */
  constructor(
    keys: readonly StoreKey[],
    files: readonly (OpenFile | undefined)[],
    openedAt: number,
    places: readonly (DirectPlace | undefined)[],
  ) {
    this.#keys = keys;
    this.#files = files;
    this.#openedAt = openedAt;
    this.#places = places;
  }

  get(
    key: StoreKey,
    options?: GetOptions,
  ): Promise<Uint8Array | undefined> {
    return this.getRange(key, WHOLE, options);
  }

  async getRange(
    key: StoreKey,
    range: ByteRange,
    options: GetOptions = {},
  ): Promise<Uint8Array | undefined> {
    assertByteRange(range);
    const file = this.#find(key, options);
    if (file === undefined) return undefined;
    const earlier = this.#readings.get(file) ?? Promise.resolve();
    const reading = earlier.catch(() => {})
      .then(() => file.read(key, range, options));
    this.#readings.set(file, reading);
    return await reading;
  }

  // deno-lint-ignore require-await -- so that a bad key is a rejection
  async stream(
    key: StoreKey,
    options: StoreOptions = {},
  ): Promise<ReadableStream<Uint8Array> | undefined> {
    const file = this.#find(key, options);
    if (file === undefined) return undefined;
    const stream = file.stream(options.signal);
    this.#streams.set(file, stream);
    return stream;
  }

  async size(
    key: StoreKey,
    options?: StoreOptions,
  ): Promise<number | undefined> {
    return await this.#find(key, options)?.size();
  }

  version(key: StoreKey): StoreVersion | undefined {
    const file = this.#find(key);
    const state = file?.stat();
    if (state === undefined) return undefined;
    const place = this.#places[this.#keys.indexOf(key)];
    if (isOld(state, this.#openedAt)) return new FileVersion(state, place);
    const version = this.#versions.get(file!) ??
      new FileVersion(state, place, file);
    this.#versions.set(file!, version);
    return version;
  }

  /** Closes all files but those of streams and of versions that were told. */
  close(): void {
    for (const file of this.#files) {
      const isGiven = file === undefined || this.#streams.has(file) ||
        this.#versions.has(file);
      if (!isGiven) file.close();
    }
  }

  /** Closes all files, after a failure. */
  async abandon(reason: unknown): Promise<void> {
    this.close();
    for (const version of this.#versions.values()) version.release();
    for (const stream of this.#streams.values()) {
      await discard(stream, reason);
    }
  }

  #find(key: StoreKey, options?: StoreOptions): OpenFile | undefined {
    options?.signal?.throwIfAborted();
    assertInGroup(this.#keys, key);
    const file = this.#files[this.#keys.indexOf(key)];
    if (file !== undefined && this.#streams.has(file)) {
      throw new TypeError(
        `Value ${
          JSON.stringify(key)
        } is a stream already, and can be read once`,
      );
    }
    return file;
  }
}
