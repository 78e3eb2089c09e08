import { type Engine, engineOf } from "../checksum/engine.ts";
import { PartTally } from "./part_tally.ts";
import { CHECKSUM_SIZE } from "../checksum/stored_checksum.ts";
import { plainWindows, type Windows } from "../checksum/windows.ts";
import { describe } from "../metadata/describe.ts";
import {
  assertChunkSize,
  type ChunkSizes,
  declaredSize,
} from "./chunk_size.ts";
import type { Part } from "./part.ts";
import { assertPartSize } from "./part_size_error.ts";
import type { SplitOptions, SplitReport } from "./stream_options.ts";

const MODES = ["none", "compute", "verify"];

/** One chunk on its way, split or joined: what is counted, checked and told of it. */
export class Passage {
  readonly parts: readonly Part[];
  readonly options: SplitOptions;
  /** Whether the last four bytes must be the checksum of those before. */
  readonly isVerified: boolean;
  readonly #limits: ChunkSizes[];
  readonly #engine: Engine | undefined;
  readonly #tally: PartTally;
  /** How many bytes came, and how many went on. */
  #size = 0;
  #passed = 0;

  /**
   * @param limits What the chunk's length must be, besides what the options say.
   * @throws {RangeError} Options outside their range, or a `chunkSize` that is
   * none for the parts.
   */
  constructor(
    parts: readonly Part[],
    limits: ChunkSizes[],
    options: SplitOptions,
  ) {
    const { crc32c = "none", engine = "auto", chunkSize, key = "" } = options;
    if (!MODES.includes(crc32c)) {
      throw new RangeError(
        `Expected crc32c to be "none", "compute" or "verify", found ${
          describe(crc32c)
        }`,
      );
    }
    this.parts = parts;
    this.options = options;
    this.isVerified = crc32c === "verify";
    this.#limits = [...limits];
    if (chunkSize !== undefined) {
      const declared = declaredSize(chunkSize);
      for (const limit of limits) assertChunkSize(limit, key, chunkSize);
      this.#limits.push(declared);
    }
    if (this.isVerified) this.#limits.push(ROOM_FOR_CHECKSUM);
    const chosen = engineOf(engine);
    this.#engine = crc32c === "none" ? undefined : chosen;
    this.#tally = new PartTally(parts.length, this.#engine);
  }

  /** Whether the bytes are summed up. */
  get hasChecksums(): boolean {
    return this.#engine !== undefined;
  }

  /** Memory for the bytes to pass through. */
  windows(): Windows {
    return this.#engine?.windows() ?? plainWindows();
  }

  /** Counts a piece that came, and refuses one too many. */
  receive(length: number): void {
    this.#size += length;
    this.#assertSize(false);
  }

  /** Counts and sums up bytes of a part, which is the one of the bytes before or a later one. */
  add(part: number, bytes: Uint8Array): void {
    this.#tally.add(part, bytes);
  }

  /** Refuses a part of which there are more bytes than its size or, if these are all, fewer. */
  assertPart(part: number, received: number, isWhole: boolean): void {
    const { keySuffix, size } = this.parts[part]!;
    if (!isWhole && received <= (size ?? Infinity)) return;
    assertPartSize((this.options.key ?? "") + keySuffix, size, received);
  }

  /** Refuses a chunk that ends here, if it is too short. */
  assertEnd(): void {
    this.#assertSize(true);
  }

  /** Refuses a chunk whose checksum is not the one at its end. */
  assertChecksum(): void {
    if (this.isVerified) this.#tally.verify(this.options.key ?? "");
  }

  /** Tells how many bytes have gone through. */
  progress(length: number): void {
    if (length > 0) this.options.onProgress?.(this.#passed += length);
  }

  report(): SplitReport {
    const { sizes, checksums, size, checksum } = this.#tally;
    const sum = (crc32c: number) => this.#engine ? { crc32c } : {};
    return {
      size,
      ...sum(checksum),
      parts: this.parts.map(({ keySuffix }, i) => ({
        keySuffix,
        size: sizes[i]!,
        ...sum(checksums[i]!),
      })),
    };
  }

  #assertSize(isWhole: boolean): void {
    for (const limit of this.#limits) {
      assertChunkSize(limit, this.options.key ?? "", this.#size, isWhole);
    }
  }
}

const ROOM_FOR_CHECKSUM: ChunkSizes = {
  least: CHECKSUM_SIZE,
  most: Infinity,
  reason: `the checksum at its end takes ${CHECKSUM_SIZE}`,
};
