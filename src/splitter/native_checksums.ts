import { joinCrc32c, withoutLastFour } from "../checksum/crc32c_field.ts";
import { crc32cByTables } from "../checksum/crc32c_tables.ts";

/**
 * The CRC32C of each part and of the chunk. Bytes may be summed up later than they
 * are counted, but in the same order.
 */
export class NativeChecksums {
  /** The CRC32Cs of the parts. */
  readonly parts: number[] = [];
  /** The part that is summed up, and how many bytes of it were. */
  #part = 0;
  #summed = 0;
  /** The last four bytes as a little-endian number. */
  #lastFour = 0;

  /**
   * Computes the checksum of the next bytes of the chunk.
   *
   * @param sizes The sizes of the parts; infinite while a size is not known.
   */
  sum(bytes: Uint8Array, sizes: readonly number[]): void {
    for (let i = Math.max(0, bytes.length - 4); i < bytes.length; i++) {
      this.#lastFour = this.#lastFour >>> 8 | bytes[i]! << 24;
    }
    for (let start = 0; start < bytes.length;) {
      const part = this.#part;
      const rest = sizes[part]! - this.#summed;
      if (rest === 0) {
        this.#part++;
        this.#summed = 0;
        continue;
      }
      const end = Math.min(start + rest, bytes.length);
      const summed = end - start === bytes.length
        ? bytes
        : bytes.subarray(start, end);
      this.parts[part] = crc32cByTables(summed, this.parts[part] ?? 0);
      this.#summed += end - start;
      start = end;
    }
  }

  /** The CRC32C of the chunk, from the lengths of its parts. */
  whole(lengths: readonly number[]): number {
    return lengths.reduce(
      (whole, length, part) => joinCrc32c(whole, this.parts[part] ?? 0, length),
      0,
    );
  }

  /** The checksum in the last four bytes. */
  get stored(): number {
    return this.#lastFour >>> 0;
  }

  /** The CRC32C of the bytes before the last four. */
  beforeLastFour(lengths: readonly number[]): number {
    return withoutLastFour(this.whole(lengths), this.#lastFour);
  }
}
