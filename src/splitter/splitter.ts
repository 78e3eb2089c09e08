import {
  assertChecksum,
  CHECKSUM_SIZE,
  joinCrc32c,
  withoutLastFour,
} from "../checksum/mod.ts";
import { sentence } from "../errors/mod.ts";
import { copyBytes } from "../runtime/mod.ts";
import {
  type ChunkPlan,
  type Engine,
  FRONT,
  type OpenEngine,
  openNative,
  WINDOW_COUNT,
  WINDOW_LENGTH,
} from "./engines.ts";
import {
  assertChunkSize,
  type Part,
  type Settings,
  type SplitReport,
} from "./stream_options.ts";

/** Bytes of one part that go on. */
export interface Cut {
  /** The index of the part. */
  readonly part: number;
  readonly bytes: Uint8Array;
  /** Whether the memory is used again, or for another cut, so that it must be copied to be kept. */
  readonly isLent: boolean;
}

const NOTHING = new Uint8Array();

/**
 * Splits one chunk into its parts, or joins it from them, for a caller that moves the
 * bytes. Lengths are checked here, and the engine decides the cuts.
 *
 * Bytes come in one of two ways: read into `window()`, or as a piece in other memory. Of a
 * piece, only bytes that are held back are copied.
 */
export class Splitter {
  readonly #settings: Settings;
  readonly #engine: Engine;
  #windows: Windows | undefined;
  #received = 0;
  /** The last four bytes that were summed up, as a little-endian number. */
  #lastFour = 0;
  #report: SplitReport | undefined;

  /**
   * @param isSplit Whether the chunk is cut into its parts, not joined from them.
   * @param open Starts the engine.
   */
  constructor(
    settings: Settings,
    isSplit: boolean,
    open: OpenEngine = openNative,
  ) {
    this.#settings = settings;
    this.#engine = open(isSplit ? splitPlan(settings) : joinPlan(settings));
  }

  /** Returns memory into which the next bytes of the chunk are read, at least 64 KiB. */
  window(): Uint8Array {
    return this.#opened().window();
  }

  /**
   * Takes the next bytes of a chunk that is cut, and returns those that may go on. The memory of a piece that is not
   * the start of `window()` must stay as it is until they have.
   *
   * @throws {PartSizeError} If the chunk is too long with these bytes.
   */
  take(piece: Uint8Array): Cut[] {
    this.#received += piece.length;
    this.#assertLength(false);
    this.#engine.take(piece.length);
    return this.#cuts(piece);
  }

  /**
   * Takes the next bytes of the present part of a chunk that is joined. All of them may go on.
   *
   * @throws {PartSizeError} If the chunk is too long with these bytes.
   */
  join(piece: Uint8Array): void {
    this.#received += piece.length;
    this.#assertLength(false);
    this.#engine.take(piece.length);
    if (this.#windows?.has(piece)) {
      this.#windows.hold(piece);
      this.#windows.pass(piece.length);
    }
  }

  /** Ends the present part of a chunk that is joined. */
  endPart(): void {
    this.#engine.endPart();
  }

  /**
   * Takes the end of the chunk, and returns the bytes that were held back. They are summed
   * up already.
   *
   * @throws {PartSizeError} If bytes are missing.
   * @throws {ChecksumError} If the chunk does not end with its checksum, where that is verified.
   */
  end(): Cut[] {
    this.#assertLength(true);
    this.#engine.finish();
    const cuts = this.#cuts(NOTHING);
    this.sum(cuts);
    const { isVerified, key } = this.#settings;
    this.#report = this.#settings.hasChecksums
      ? this.#summedUp()
      : this.#counted();
    if (isVerified) {
      const chunk = key === "" ? "Chunk" : sentence`Chunk ${key}`;
      const expected = this.#lastFour >>> 0;
      const actual = withoutLastFour(this.#report.crc32c!, this.#lastFour);
      assertChecksum({ expected, actual }, chunk, key);
    }
    return cuts;
  }

  /** Adds bytes that go on to the checksums, if any are computed. All must be added, in their order. */
  sum(cuts: readonly Omit<Cut, "isLent">[]): void {
    if (!this.#settings.hasChecksums) return;
    for (const { part, bytes } of cuts) {
      for (const byte of bytes.subarray(-4)) {
        this.#lastFour = this.#lastFour >>> 8 | byte << 24;
      }
      this.#engine.sum(part, bytes);
    }
  }

  /** The lengths and the checksums of the whole chunk and of its parts, after `end`. */
  get report(): SplitReport {
    return this.#report!;
  }

  /** Gives the memory back. Neither the splitter nor its memory may be used afterwards. */
  release(): void {
    this.#windows?.release();
    this.#engine.release();
  }

  #counted(): SplitReport {
    const parts = this.#settings.parts.map(({ keySuffix }, part) => ({
      keySuffix,
      size: this.#engine.partLength(part),
    }));
    return { size: this.#received, parts };
  }

  #summedUp(): SplitReport {
    const sums = this.#engine.checksums();
    let crc32c = 0;
    const counted = this.#counted();
    const parts = counted.parts.map((report, part) => {
      crc32c = joinCrc32c(crc32c, sums[part]!, report.size);
      return { ...report, crc32c: sums[part]! };
    });
    return { size: counted.size, crc32c, parts };
  }

  #opened(): Windows {
    return this.#windows ??= new Windows(this.#engine.windows());
  }

  /** @param isWhole Whether the chunk ends here. */
  #assertLength(isWhole: boolean): void {
    const { limits, key } = this.#settings;
    for (const limit of limits) {
      assertChunkSize(limit, key, this.#received, isWhole);
    }
  }

  /** Returns the bytes that the engine cut: first those that were held back, then those of a piece; and holds back its rest. */
  #cuts(piece: Uint8Array): Cut[] {
    const engine = this.#engine;
    const isInWindow = this.#windows?.has(piece) ?? false;
    if (isInWindow) this.#windows!.hold(piece);
    const cuts: Cut[] = [];
    let start = 0;
    for (let part = engine.firstPart; part <= engine.lastPart; part++) {
      let length = engine.cutLength(part);
      for (const held of this.#windows?.pass(length) ?? []) {
        length -= held.length;
        // What is held back of a piece may need the window before this is written.
        const isMoved = !isInWindow && piece.length > 0;
        const bytes = isMoved ? copyBytes(held) : held;
        cuts.push({ part, bytes, isLent: !isMoved });
      }
      if (length > 0) {
        const bytes = piece.subarray(start, start + length);
        // A stream may transfer the memory of the last cut: nothing else of the piece is needed then.
        start += length;
        cuts.push({ part, bytes, isLent: part < engine.lastPart });
      }
    }
    if (!isInWindow && start < piece.length) {
      this.#opened().hold(piece.subarray(start));
    }
    return cuts;
  }
}

/** How a chunk is joined: all bytes of a part are counted for it, and none are held back. */
function joinPlan({ parts }: Settings): ChunkPlan {
  const sizes = parts.map(({ size }) => size ?? Infinity);
  return { sizes, tail: 0, end: Infinity };
}

/** How a chunk is cut: while its length is not known, the bytes behind the unsized part are held back. */
function splitPlan({ parts, chunkSize, isVerified }: Settings): ChunkPlan {
  const checksumSize = isVerified ? CHECKSUM_SIZE : 0;
  const open = parts.findIndex(({ size }) => size === undefined);
  const sizes = parts.map(({ size }) => size ?? Infinity);
  const sum = (parts: readonly Part[]) =>
    parts.reduce((sum, { size = 0 }) => sum + size, 0);
  const total = open < 0 ? sum(parts) : chunkSize;
  if (total === undefined) {
    const tail = Math.max(checksumSize, sum(parts.slice(open + 1)));
    return { sizes, tail, end: Infinity };
  }
  if (open >= 0) sizes[open] = total - sum(parts);
  return { sizes, tail: 0, end: total - checksumSize };
}

/** A window with less room left than this is full. */
const LEAST_ROOM = 64 * 1024;

/**
 * Large memory of JavaScript begins 16 bytes behind the start of a page. Some processors of
 * AMD copy bytes of a file, which begin at the start of a page, three times as slowly there.
 */
const ALIGNMENT = 48;

/** Unused windows for later chunks, which take at most 31 MiB. */
const idle: Uint8Array[] = [];
const MOST_IDLE = 16;

/** Memory that readers fill and writers write from. Bytes that are held back stay in it. */
export class Windows {
  /** Windows of an engine, which are used first, and those of JavaScript. */
  readonly #given: Uint8Array[];
  readonly #own: Uint8Array[] = [];
  /** The windows in use, in the order in which they were filled. */
  readonly #filled: Uint8Array[] = [];
  /** Where the next bytes belong in the last of them. */
  #end = 0;
  /** The bytes that are held back, in their order. */
  #held: Uint8Array[] = [];

  /** @param given Memory to use first, each `WINDOW_LENGTH` long. */
  constructor(given: Uint8Array[]) {
    this.#given = given;
  }

  /**
   * Returns free memory, at least 64 KiB. Bytes read there stay as they are until they have
   * gone on, and three more windows are full.
   */
  window(): Uint8Array {
    const current = this.#filled.at(-1);
    if (current === undefined || current.length - this.#end < LEAST_ROOM) {
      return this.#next().subarray(this.#end);
    }
    return current.subarray(this.#end);
  }

  /** Holds bytes back. Those at the start of `window()` stay where they are, others are copied. */
  hold(bytes: Uint8Array): void {
    if (bytes.length > 0 && this.has(bytes)) return this.#take(bytes.length);
    for (let start = 0; start < bytes.length;) {
      const room = this.window();
      const piece = bytes.subarray(start, start + room.length);
      room.set(piece);
      this.#take(piece.length);
      start += piece.length;
    }
  }

  /** Whether bytes lie where the window is filled next. */
  has(bytes: Uint8Array): boolean {
    const current = this.#filled.at(-1);
    return bytes.buffer === current?.buffer &&
      bytes.byteOffset === current.byteOffset + this.#end;
  }

  /** Returns the first held bytes, up to a number of them, which are not held any more. */
  pass(length: number): Uint8Array[] {
    const passed: Uint8Array[] = [];
    while (length > 0 && this.#held.length > 0) {
      const bytes = this.#held[0]!.subarray(0, length);
      const rest = this.#held[0]!.subarray(bytes.length);
      if (rest.length > 0) this.#held[0] = rest;
      else this.#held.shift();
      passed.push(bytes);
      length -= bytes.length;
    }
    return passed;
  }

  /** Gives the memory back. */
  release(): void {
    for (const memory of this.#own) {
      if (idle.length < MOST_IDLE) idle.push(memory);
    }
  }

  /** Holds the next bytes of the window. */
  #take(length: number): void {
    const { buffer, byteOffset } = this.#filled.at(-1)!;
    let start = byteOffset + this.#end;
    this.#end += length;
    const last = this.#held.at(-1);
    if (last?.buffer === buffer && last.byteOffset + last.length === start) {
      this.#held.pop();
      start = last.byteOffset;
    }
    const end = byteOffset + this.#end;
    this.#held.push(new Uint8Array(buffer, start, end - start));
  }

  /** Goes on to the next window, with the held bytes in front if they fit there. */
  #next(): Uint8Array {
    const length = this.#held.reduce((sum, bytes) => sum + bytes.length, 0);
    const oldest = length > FRONT ? this.#held[0]! : undefined;
    const passed = oldest === undefined
      ? this.#filled.length
      : this.#filled.findIndex((memory) => isWithin(memory, oldest));
    const memory = passed >= WINDOW_COUNT
      ? this.#filled.shift()!
      : this.#given.shift() ?? this.#allocate();
    this.#filled.push(memory);
    this.#end = FRONT;
    if (0 < length && length <= FRONT) {
      const front = memory.subarray(FRONT - length, FRONT);
      let end = 0;
      for (const bytes of this.#held) {
        front.set(bytes, end);
        end += bytes.length;
      }
      this.#held = [front];
    }
    return memory;
  }

  #allocate(): Uint8Array {
    const memory = idle.pop() ??
      new Uint8Array(ALIGNMENT + WINDOW_LENGTH).subarray(ALIGNMENT);
    this.#own.push(memory);
    return memory;
  }
}

function isWithin(memory: Uint8Array, bytes: Uint8Array): boolean {
  const start = bytes.byteOffset - memory.byteOffset;
  return bytes.buffer === memory.buffer && start >= 0 && start < memory.length;
}
