import type { OpenFiles } from "./open_files.ts";
import {
  type Files,
  type FileState,
  isSameState,
  type OpenFile,
} from "./files.ts";
import type { Folders } from "./folders.ts";
import type { ByteRange, StoreKey, StoreOptions } from "../store.ts";
import type { StoreVersion } from "../store_group.ts";

/**
 * The version of a value in a file. A young file is held open, so that no later file
 * gets its inode number.
 */
export class FileVersion implements StoreVersion {
  readonly #state: FileState;
  #held: OpenFile | undefined;

  constructor(state: FileState, held?: OpenFile) {
    this.#state = state;
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

  release(): void {
    this.#held?.close();
    this.#held = undefined;
  }
}

/** Reads a range of a version of a value; returns `undefined` if another file is there, or none. */
export async function readRangeOf(
  { files, openFiles, root }: {
    readonly files: Files;
    readonly openFiles: OpenFiles;
    readonly root: Folders;
  },
  version: StoreVersion,
  key: StoreKey,
  range: ByteRange,
  options: StoreOptions,
): Promise<Uint8Array | undefined> {
  return await openFiles.run(1, async () => {
    const found = await root.find(key, options);
    const file = found && await files.open(found.path);
    if (!file) return undefined;
    try {
      return version instanceof FileVersion && version.isOf(file)
        ? await file.read(key, range, options)
        : undefined;
    } finally {
      file.close();
    }
  });
}
