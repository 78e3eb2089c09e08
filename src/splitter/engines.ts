import { compileModule, crc32cByTables } from "../checksum/mod.ts";
import { WASM_BINARY } from "./splitter_wasm.ts";
import type { EngineName } from "./stream_options.ts";

/** The lengths by which an engine cuts a chunk, in bytes. */
export interface ChunkPlan {
  /** The sizes of the parts in their order; infinite for one that is not known yet. */
  readonly sizes: readonly number[];
  /** How many of the bytes that came last are always held back. */
  readonly tail: number;
  /** Where the bytes begin that are held back to the end; infinite if there are none. */
  readonly end: number;
}

/**
 * Cuts one chunk into its parts, or counts the parts that it is joined from, and computes
 * checksums. An engine never sees more than the lengths of what it does not sum up:
 * {@linkcode Splitter} moves the bytes, and checks lengths before the engine is told them.
 */
export interface Engine {
  /** Memory of the engine for windows, which it sums up without copying it. Called at most once. */
  windows(): Uint8Array[];
  /** Takes the length of the next bytes, and cuts what may go on: from now on from `firstPart` to `lastPart`. */
  take(length: number): void;
  /** Ends the present part of a chunk that is joined. */
  endPart(): void;
  /** Takes the end of the chunk, and cuts what was held back. */
  finish(): void;
  /** The first and the last of the parts to which `take` or `finish` cut bytes. */
  readonly firstPart: number;
  readonly lastPart: number;
  /** How many bytes were cut for a part from `firstPart` to `lastPart`. */
  cutLength(part: number): number;
  /** The length of a part so far. */
  partLength(part: number): number;
  /** Adds bytes to the checksum of their part. Called for all of them in their order, if at all. */
  sum(part: number, bytes: Uint8Array): void;
  /** Returns the CRC32C of each part, once all bytes are summed up. */
  checksums(): number[];
  /** Gives the memory back. Neither the engine nor its windows may be used afterwards. */
  release(): void;
}

/** Starts an engine for a chunk. */
export type OpenEngine = (plan: ChunkPlan) => Engine;

/** Starts the engine in TypeScript. */
export function openNative(plan: ChunkPlan): Engine {
  return new NativeEngine(plan);
}

class NativeEngine implements Engine {
  /** The sizes of the parts; infinite while a size is not known. */
  readonly #sizes: number[];
  readonly #lengths: number[];
  readonly #cuts: number[];
  readonly #checksums: number[];
  readonly #tail: number;
  readonly #end: number;
  #received = 0;
  #passed = 0;
  /** The part to which the next bytes belong. */
  #part = 0;
  firstPart = 0;

  constructor({ sizes, tail, end }: ChunkPlan) {
    this.#sizes = [...sizes];
    this.#lengths = sizes.map(() => 0);
    this.#cuts = sizes.map(() => 0);
    this.#checksums = sizes.map(() => 0);
    this.#tail = tail;
    this.#end = end;
  }

  windows(): Uint8Array[] {
    return [];
  }

  take(length: number): void {
    this.#received += length;
    this.#cut(Math.min(Math.max(0, this.#received - this.#tail), this.#end));
  }

  endPart(): void {
    this.#sizes[this.#part] = this.#lengths[this.#part]!;
    this.#part++;
  }

  finish(): void {
    let rest = this.#received;
    for (const size of this.#sizes) if (size < Infinity) rest -= size;
    const open = this.#sizes.indexOf(Infinity);
    if (open >= 0) this.#sizes[open] = rest;
    this.#cut(this.#received);
  }

  get lastPart(): number {
    return this.#part;
  }

  cutLength(part: number): number {
    return this.#cuts[part]!;
  }

  partLength(part: number): number {
    return this.#lengths[part]!;
  }

  sum(part: number, bytes: Uint8Array): void {
    this.#checksums[part] = crc32cByTables(bytes, this.#checksums[part]!);
  }

  checksums(): number[] {
    return this.#checksums;
  }

  release(): void {}

  /** Assigns the bytes that go on to their parts, up to an offset in the chunk. */
  #cut(until: number): void {
    let going = until - this.#passed;
    this.#passed = until;
    this.firstPart = this.#part;
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

/** How many windows are in use at once: while one is filled, bytes of the two before it may wait to be summed up or written. */
export const WINDOW_COUNT = 4;
/**
 * How many bytes are read into a window. Twice as many take half as many calls of other
 * threads. A write of 2 MiB or more would have Linux look for 2 MiB of memory in one piece,
 * for which a virtual machine may have to ask its host: that takes up to ten times as long.
 */
const SIZE = 30 * 64 * 1024;
/** Room in front of a window for bytes that are held back, so that they go on in one write with those read behind them. */
export const FRONT = 64 * 1024;
/** The length of the memory of a window. */
export const WINDOW_LENGTH = FRONT + SIZE;
/**
 * Chooses the engine for a chunk.
 *
 * `"auto"` is `"wasm"` if a checksum is computed, and `"native"` if not. This holds
 * for every kind of source and sink: with a checksum, the module is 2.6 to 6 times as
 * fast. Without one, no engine reads the bytes: both take the same time within
 * 10 %, mostly in favour of `"native"`, which also needs no module to be compiled. The
 * figures are those of `deno task bench split join`.
 *
 * @param hasChecksums Whether checksums are computed.
 */
export function openerOf(name: EngineName, hasChecksums: boolean): OpenEngine {
  const isWasm = name === "wasm" || name === "auto" && hasChecksums;
  return isWasm ? openWasm : openNative;
}

/** Starts the engine in Wasm, or the one in TypeScript where the module cannot be used. */
export function openWasm(plan: ChunkPlan): Engine {
  const instance = idle.pop() ?? newInstance();
  if (instance === undefined) return openNative(plan);
  const windowStart = instance.exports.begin(plan.sizes.length);
  if (windowStart === 0) return openNative(plan);
  return new WasmEngine(instance, plan, windowStart);
}

class WasmEngine implements Engine {
  readonly #instance: WasmInstance;
  readonly #parts: number;
  readonly #windowStart: number;

  constructor(
    instance: WasmInstance,
    { sizes, tail, end }: ChunkPlan,
    windowStart: number,
  ) {
    inUse++;
    this.#instance = instance;
    this.#parts = sizes.length;
    this.#windowStart = windowStart;
    instance.refresh();
    for (let part = 0; part < sizes.length; part++) {
      instance.numbers[instance.table + 4 * part] = sizes[part]!;
    }
    instance.exports.start(tail, end);
  }

  windows(): Uint8Array[] {
    const instance = this.#instance;
    if (!instance.reach(this.#windowStart + WINDOW_COUNT * WINDOW_LENGTH)) {
      return [];
    }
    return Array.from({ length: WINDOW_COUNT }, (_, i) => {
      const start = this.#windowStart + i * WINDOW_LENGTH;
      return instance.bytes.subarray(start, start + WINDOW_LENGTH);
    });
  }

  take(length: number): void {
    this.#instance.exports.take(length);
  }

  endPart(): void {
    this.#instance.exports.endPart();
  }

  finish(): void {
    this.#instance.exports.finish();
  }

  get firstPart(): number {
    return this.#instance.exports.firstPart.value;
  }

  get lastPart(): number {
    return this.#instance.exports.part.value;
  }

  partLength(part: number): number {
    return this.#column(part, 1);
  }

  cutLength(part: number): number {
    return this.#column(part, 2);
  }

  sum(part: number, bytes: Uint8Array): void {
    const { exports, bytes: memory } = this.#instance;
    const { length } = bytes;
    if (bytes.buffer === memory.buffer) {
      return exports.sum(part, bytes.byteOffset, length);
    }
    const block = exports.block.value;
    const most = exports.blockSize.value;
    for (let start = 0; start < length; start += most) {
      const end = Math.min(start + most, length);
      memory.set(length <= most ? bytes : bytes.subarray(start, end), block);
      exports.sum(part, block, end - start);
    }
  }

  checksums(): number[] {
    this.#instance.exports.endSums();
    return Array.from(
      { length: this.#parts },
      (_, part) => this.#column(part, 3),
    );
  }

  release(): void {
    inUse--;
    const { bytes } = this.#instance;
    if (bytes.length <= MOST_MEMORY && idle.length < MOST_IDLE) {
      idle.push(this.#instance);
    }
  }

  #column(part: number, column: number): number {
    const { numbers, table } = this.#instance;
    return numbers[table + 4 * part + column]!;
  }
}

/** The exports of `wasm/splitter.ts`, where the functions are described. Lengths and addresses are in bytes. */
interface SplitterExports {
  readonly memory: WebAssembly.Memory;
  readonly table: { readonly value: number };
  readonly block: { readonly value: number };
  readonly blockSize: { readonly value: number };
  readonly firstPart: { readonly value: number };
  readonly part: { readonly value: number };
  begin(parts: number): number;
  start(tail: number, end: number): void;
  take(length: number): void;
  endPart(): void;
  finish(): void;
  sum(part: number, from: number, length: number): void;
  endSums(): void;
}

const PAGE = 64 * 1024;

/** An instance of the module, and its memory as JavaScript sees it. */
class WasmInstance {
  readonly exports: SplitterExports;
  bytes!: Uint8Array;
  numbers!: Float64Array;
  /** The index of the table in `numbers`. */
  readonly table: number;

  constructor(module: WebAssembly.Module) {
    const { exports } = new WebAssembly.Instance(module);
    this.exports = exports as unknown as SplitterExports;
    this.table = this.exports.table.value / 8;
    this.refresh();
  }

  /** Makes the memory reach at least so far, which detaches views of it; `false` if there is no memory. */
  reach(end: number): boolean {
    const missing = Math.ceil((end - this.bytes.length) / PAGE);
    try {
      if (missing > 0) this.exports.memory.grow(missing);
    } catch {
      return false;
    }
    this.refresh();
    return true;
  }

  /** Makes new views of the memory if it has grown, which detaches the old ones. */
  refresh(): void {
    const { buffer } = this.exports.memory;
    if (this.bytes?.buffer === buffer) return;
    this.bytes = new Uint8Array(buffer);
    this.numbers = new Float64Array(buffer);
  }
}

/** Unused instances of the module for later chunks, which take at most 38 MiB. */
const idle: WasmInstance[] = [];
const MOST_IDLE = 4;
let inUse = 0;
/** The memory of an instance with windows and a table of up to a thousand parts. An instance with more memory is not used again. */
const MOST_MEMORY = 0x950000;

/** Returns how many instances are in use, for tests. */
export function instancesInUse(): number {
  return inUse;
}

/** Creates an instance, or returns `undefined` where the module cannot be compiled or has no memory. */
function newInstance(): WasmInstance | undefined {
  const module = compileModule(WASM_BINARY);
  if (module === undefined) return undefined;
  try {
    return new WasmInstance(module);
  } catch {
    return undefined;
  }
}
