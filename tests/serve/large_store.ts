import type {
  ByteRange,
  GroupValues,
  Store,
  StoreGroup,
  StoreKey,
  StoreOptions,
  StoreVersion,
} from "../../mod.ts";
import { resolveByteRange } from "../../src/stores/store.ts";
import { countingBytes } from "../support/bytes.ts";

/** The longest range that a handler reads at once, in bytes. */
export const LARGEST_PIECE: number = 4 * 2 ** 20;

const PATTERN = countingBytes(LARGEST_PIECE + 251);

/** A store of one value of any length, whose bytes depend on their offsets. */
export class LargeStore implements Store {
  readonly #size: number;
  /** The number of bytes that were read. */
  read = 0;
  /** The effect on later reads. */
  fault: "fails" | "stalls" | "changes" | undefined;

  constructor(size: number) {
    this.#size = size;
  }

  static byteAt(offset: number): number {
    return offset % 251;
  }

  get(): Promise<never> {
    throw new Error("The value is too long");
  }

  async getRange(_key: StoreKey, range: ByteRange): Promise<Uint8Array> {
    const { start, end } = resolveByteRange(range, this.#size);
    if (end - start > LARGEST_PIECE) {
      throw new Error(`Expected ranges of a window, found ${end - start}`);
    }
    if (this.fault === "fails") throw new Error("The disk is gone");
    if (this.fault === "stalls") await new Promise(() => {});
    this.read += end - start;
    const first = start % 251;
    return PATTERN.slice(first, first + end - start);
  }

  size(): Promise<number> {
    return Promise.resolve(this.#size);
  }

  stream(): Promise<never> {
    throw new Error("Streams have no version");
  }

  group(_key: StoreKey, [key]: readonly StoreKey[]): StoreGroup {
    const values: GroupValues = {
      get: () => this.get(),
      getRange: (_, range) => this.getRange(key!, range),
      stream: () => this.stream(),
      size: () => this.size(),
      version: () => ({
        isLasting: true,
        size: this.#size,
        tag: "1",
        release() {},
      }),
    };
    return { read: (task) => task(values) };
  }

  async getRangeOf(
    _version: StoreVersion,
    key: StoreKey,
    range: ByteRange,
    _options?: StoreOptions,
  ): Promise<Uint8Array | undefined> {
    if (this.fault === "changes") return undefined;
    return await this.getRange(key, range);
  }
}
