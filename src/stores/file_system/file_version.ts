import { type FileState, isSameState, type OpenFile } from "./files.ts";
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

  /** Whether an open file is the one of this version. */
  isOf(file: OpenFile): boolean {
    return isSameState(this.#state, file.stat());
  }

  release(): void {
    this.#held?.close();
    this.#held = undefined;
  }
}
