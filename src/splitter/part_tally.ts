import { joinCrc32c, withoutLastFour } from "../checksum/crc32c_field.ts";
import type { Engine } from "../checksum/engine.ts";
import { assertChecksum, CHECKSUM_SIZE } from "../checksum/stored_checksum.ts";

/** Counts the bytes of each part as they go through, and computes their checksums. */
export class PartTally {
  /** How many bytes of each part there were so far. */
  readonly sizes: number[];
  /** Their CRC32Cs; 0 if none are computed. */
  readonly checksums: number[];
  readonly #engine: Engine | undefined;
  readonly #last = new Uint8Array(CHECKSUM_SIZE);

  /**
   * @param parts How many parts there are.
   * @param engine What computes the checksums, if they are wanted.
   */
  constructor(parts: number, engine: Engine | undefined) {
    this.sizes = new Array(parts).fill(0);
    this.checksums = new Array(parts).fill(0);
    this.#engine = engine;
  }

  /** Counts more bytes of a part, which is the one of the bytes before or a later one. */
  add(part: number, bytes: Uint8Array): void {
    this.sizes[part]! += bytes.length;
    if (this.#engine === undefined) return;
    this.checksums[part] = this.#engine.crc32c(bytes, this.checksums[part]!);
    const last = bytes.subarray(-CHECKSUM_SIZE);
    this.#last.copyWithin(0, last.length);
    this.#last.set(last, CHECKSUM_SIZE - last.length);
  }

  /** How many bytes there were of all parts. */
  get size(): number {
    return this.sizes.reduce((sum, size) => sum + size, 0);
  }

  /** The CRC32C of all parts one after another. */
  get checksum(): number {
    return this.checksums.reduce((whole, checksum, part) =>
      joinCrc32c(whole, checksum, this.sizes[part]!)
    );
  }

  /**
   * Refuses bytes of which the last four are not the CRC32C of those before, as
   * the `crc32c` codec appends it: the lowest byte first.
   *
   * @param key The key of the whole, or what the message calls it by.
   */
  verify(key: string): void {
    const expected = new DataView(this.#last.buffer).getUint32(0, true);
    const actual = withoutLastFour(this.checksum, expected);
    const chunk = key === "" ? "Chunk" : `Chunk ${JSON.stringify(key)}`;
    assertChecksum({ expected, actual }, chunk, key);
  }
}
