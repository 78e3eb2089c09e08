import {
  crc32cByTables,
  joinCrc32c,
  withoutLastFour,
} from "../checksum/mod.ts";
import type { ChunkPlan, Splitter } from "./splitter.ts";
import { MOST_HELD, NativeWindows } from "./windows.ts";

const NOTHING = new Uint8Array();

/** Starts a splitter of the engine in TypeScript. */
export function openNative(plan: ChunkPlan): Splitter {
  return new NativeSplitter(plan);
}

class NativeSplitter implements Splitter {
  /** The sizes of the parts; infinite while a size is not known. */
  readonly #sizes: number[] = [];
  readonly #lengths: number[] = [];
  readonly #cuts: number[] = [];
  readonly #checksums = new NativeChecksums();

  /** The length of the chunk; −1 while it is not known. */
  readonly #total: number;
  /** The least and the most bytes that the chunk may have. */
  readonly #least: number;
  readonly #most: number;
  /** How many bytes the parts with a size take together. */
  readonly #sized: number;
  /** The part whose size is known only at the end of a split; −1 if there is none. */
  readonly #open: number = -1;
  /** How many of the last bytes are held back if the length of the chunk is known. */
  #withheld: number;
  /** How many of the last bytes are held back if the length of the chunk is not known. */
  #tail: number;

  #received = 0;
  #passed = 0;
  /** The part to which the next bytes belong. */
  #part = 0;
  #firstPart = 0;
  #cutInMemory: Uint8Array = NOTHING;

  #windows: NativeWindows | undefined;
  #held: HeldBytes | undefined;

  constructor({ sizes, total = -1, withheld, isSplit }: ChunkPlan) {
    let sized = 0;
    let behind = 0;
    let open = -1;
    for (let part = 0; part < sizes.length; part++) {
      const size = sizes[part];
      if (size === undefined) {
        open = part;
        behind = 0;
      } else {
        sized += size;
        behind += size;
      }
      this.#sizes.push(size ?? Infinity);
      this.#lengths.push(0);
      this.#cuts.push(0);
    }
    this.#sized = sized;
    this.#withheld = withheld;
    this.#tail = isSplit ? Math.max(withheld, behind) : withheld;
    this.#total = total >= 0 || open >= 0 ? total : sized;
    const isKnown = this.#total >= 0;
    const least = isKnown ? this.#total : isSplit ? sized : 0;
    this.#least = Math.max(withheld, least);
    this.#most = isKnown ? this.#total : Infinity;
    if (!isSplit || open < 0) return;
    if (isKnown) this.#sizes[open] = this.#total - sized;
    else this.#open = open;
  }

  window(): Uint8Array {
    return (this.#windows ??= new NativeWindows()).window();
  }

  take(bytes: Uint8Array): boolean {
    if (!this.#receive(bytes.length)) return false;
    const going = this.#pass();
    const windows = this.#windows;
    if (windows?.has(bytes)) {
      windows.take(bytes.length);
      if (this.#holdsInWindow(bytes)) {
        this.#cutInMemory = windows.pass(going);
        this.#cut(going);
        return true;
      }
      windows.pass(bytes.length); // `keep` holds them elsewhere.
    }
    const held = this.#held;
    this.#cutInMemory = held === undefined
      ? NOTHING
      : held.pass(Math.min(going, held.length));
    this.#cut(going);
    return true;
  }

  finish(): boolean {
    if (!this.endChunk()) return false;
    if (this.#open >= 0) {
      this.#sizes[this.#open] = this.#received - this.#sized;
    }
    const going = this.#pass();
    this.#cutInMemory = (this.#held ?? this.#windows)?.pass(going) ?? NOTHING;
    this.#cut(going);
    return true;
  }

  get firstPart(): number {
    return this.#firstPart;
  }

  get lastPart(): number {
    return this.#part;
  }

  cutLength(part: number): number {
    return this.#cuts[part]!;
  }

  cutInMemory(): Uint8Array {
    return this.#cutInMemory;
  }

  keep(bytes: Uint8Array): void {
    if (bytes.length === 0 || this.#holdsInWindow(bytes)) return;
    (this.#held ??= new HeldBytes(this.#tail)).add(bytes);
  }

  takePart(bytes: Uint8Array): number {
    const { length } = bytes;
    if (this.#windows?.has(bytes)) {
      this.#windows.take(length);
      this.#windows.pass(length);
    }
    const count = this.#lengths[this.#part]! + length;
    this.#lengths[this.#part] = count;
    if (count > this.#sizes[this.#part]!) return 1;
    return this.#receive(length) ? 0 : 2;
  }

  endPart(): boolean {
    const length = this.#lengths[this.#part]!;
    const size = this.#sizes[this.#part]!;
    if (size === Infinity) this.#sizes[this.#part] = length;
    else if (length < size) return false;
    this.#part++;
    return true;
  }

  endChunk(): boolean {
    if (this.#received < this.#least) return false;
    this.#withheld = 0;
    this.#tail = 0;
    return true;
  }

  passable(): number {
    const passable = this.#total >= 0
      ? Math.min(this.#received, this.#total - this.#withheld)
      : this.#received - this.#tail;
    return Math.max(0, passable);
  }

  sum(bytes: Uint8Array): void {
    this.#checksums.sum(bytes, this.#sizes);
  }

  checksum(): number {
    return this.#checksums.whole(this.#lengths);
  }

  storedChecksum(): number {
    return this.#checksums.stored;
  }

  computedChecksum(): number {
    return this.#checksums.beforeLastFour(this.#lengths);
  }

  partLength(part: number): number {
    return this.#lengths[part]!;
  }

  partChecksum(part: number): number {
    return this.#checksums.parts[part] ?? 0;
  }

  release(): void {
    this.#windows?.release();
    this.#held?.release();
  }

  /** Whether bytes lie in a window and are held there. */
  #holdsInWindow(bytes: Uint8Array): boolean {
    return this.#tail <= MOST_HELD && (this.#windows?.has(bytes) ?? false);
  }

  /** Counts bytes that have come; returns `false` if the chunk is too long with them. */
  #receive(length: number): boolean {
    this.#received += length;
    return this.#received <= this.#most;
  }

  /** Lets all bytes go on that may go on, and returns their number. */
  #pass(): number {
    const going = this.passable() - this.#passed;
    this.#passed += going;
    return going;
  }

  /** Assigns bytes that go on to their parts. */
  #cut(going: number): void {
    this.#firstPart = this.#part;
    this.#cuts[this.#part] = 0;
    while (going > 0) {
      const part = this.#part;
      const length = this.#lengths[part]!;
      const taken = Math.min(going, this.#sizes[part]! - length);
      this.#cuts[part] = taken;
      this.#lengths[part] = length + taken;
      going -= taken;
      if (going > 0) this.#part++;
    }
  }
}

/** Unused memory for later chunks, since its allocation takes longer than to split a small chunk. */
const idle: Uint8Array[] = [];
const MOST_IDLE = 16;
const LEAST_MEMORY = 16 * 1024;

/** Keeps the last bytes of a sequence in memory that grows as they come. */
class HeldBytes {
  #memory: Uint8Array = idle.pop() ?? new Uint8Array(LEAST_MEMORY);
  #start = 0;
  #end = 0;
  readonly #most: number;

  /** @param most The most bytes that are ever held at once; memory is only reserved as they come. */
  constructor(most: number) {
    this.#most = most;
  }

  /** How many bytes are held. */
  get length(): number {
    return this.#end - this.#start;
  }

  /** Returns the first of the held bytes, which are not held any more. The view is valid until the next `add`. */
  pass(length: number): Uint8Array {
    const start = this.#start;
    this.#start += length;
    return this.#memory.subarray(start, this.#start);
  }

  /** Copies more bytes behind the held ones. */
  add(bytes: Uint8Array): void {
    if (this.#end + bytes.length > this.#memory.length) {
      this.#makeRoom(this.length + bytes.length);
    }
    this.#memory.set(bytes, this.#end);
    this.#end += bytes.length;
  }

  /** Gives the memory back. */
  release(): void {
    if (this.#memory.length === LEAST_MEMORY && idle.length < MOST_IDLE) {
      idle.push(this.#memory);
    }
  }

  #makeRoom(needed: number): void {
    const { length } = this;
    // With half as much memory again as bytes are held, held bytes seldom move.
    const size = Math.ceil(1.5 * Math.min(this.#most, 2 * needed));
    if (size > this.#memory.length) {
      const memory = new Uint8Array(size);
      memory.set(this.#memory.subarray(this.#start, this.#end));
      this.#memory = memory;
    } else this.#memory.copyWithin(0, this.#start, this.#end);
    this.#start = 0;
    this.#end = length;
  }
}

/**
 * The CRC32C of each part and of the chunk. Bytes may be summed up later than they
 * are counted, but in the same order.
 */
class NativeChecksums {
  /** The CRC32C of each part. */
  readonly parts: number[] = [];
  /** The part to which the next bytes belong. */
  #part = 0;
  /** How many bytes of this part were summed up. */
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
