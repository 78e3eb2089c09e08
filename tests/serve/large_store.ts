import {
  BaseStore,
  type ByteRange,
  type Snapshot,
  type StoreKey,
  type StoreVersion,
} from "../../mod.ts";
import { resolveByteRange } from "../../src/stores/store.ts";
import { countingBytes } from "../support/bytes.ts";

/** The longest range that a handler reads at once, in bytes. */
export const LARGEST_PIECE: number = 4 * 2 ** 20;

const PATTERN = countingBytes(LARGEST_PIECE + 251);

/** A store of one value of any length, whose bytes depend on their offsets. */
export class LargeStore extends BaseStore {
  readonly #size: number;
  /** The number of bytes that were read. */
  bytesRead = 0;
  /** The effect on later reads. */
  fault: "fails" | "stalls" | "changes" | undefined;

  constructor(size: number) {
    super();
    this.#size = size;
  }

  static byteAt(offset: number): number {
    return offset % 251;
  }

  override read<T>(
    _keys: readonly StoreKey[],
    task: (values: Snapshot) => Promise<T>,
  ): Promise<T> {
    const size = this.#size;
    return task({
      size: () => Promise.resolve(size),
      read: (_key, range) => {
        if (range === undefined) throw new Error("The value is too long");
        return this.#range(range);
      },
      stream: () => {
        throw new Error("Streams have no version");
      },
      version: () => ({ isLasting: true, size, tag: "1", release() {} }),
    });
  }

  async readOf(
    _version: StoreVersion,
    _key: StoreKey,
    range: ByteRange,
  ): Promise<Uint8Array | undefined> {
    return this.fault === "changes" ? undefined : await this.#range(range);
  }

  async #range(range: ByteRange): Promise<Uint8Array> {
    const { start, end } = resolveByteRange(range, this.#size);
    if (end - start > LARGEST_PIECE) {
      throw new Error(`Expected ranges of a window, found ${end - start}`);
    }
    if (this.fault === "fails") throw new Error("The disk is gone");
    if (this.fault === "stalls") await new Promise(() => {});
    this.bytesRead += end - start;
    const first = start % 251;
    return PATTERN.slice(first, first + end - start);
  }
}
