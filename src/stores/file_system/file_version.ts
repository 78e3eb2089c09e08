import {
  type ByteRange,
  resolveByteRange,
  type StoreKey,
  type StoreOptions,
  type StoreVersion,
} from "../store.ts";
import {
  type Files,
  type FileState,
  type Folders,
  isSameState,
  type OpenFile,
} from "./files.ts";
import type { OpenFiles } from "./open_files.ts";

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
