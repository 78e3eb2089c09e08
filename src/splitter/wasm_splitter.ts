import { compileModule } from "../checksum/mod.ts";
import type { ChunkPlan, Splitter } from "./splitter.ts";
import { WASM_BINARY } from "./splitter_wasm.ts";
import { NativeWindows } from "./windows.ts";

/** The engine in Wasm: the module does all work of a {@linkcode Splitter} except moving bytes in and out. */
export class WasmSplitter implements Splitter {
  readonly #instance: WasmInstance;
  readonly #exports: SplitterExports;
  /** Windows outside the module, used where more bytes are held back than fit in front of its windows. */
  #foreignWindows: NativeWindows | undefined;
  readonly #usesForeignWindows: boolean;

  private constructor(instance: WasmInstance, plan: ChunkPlan) {
    this.#instance = instance;
    const { exports, table } = instance;
    this.#exports = exports;
    const { sizes, total = -1, withheld, isSplit } = plan;
    if (exports.begin(sizes.length) === 0) {
      releaseInstance(instance);
      throw outOfMemory();
    }
    instance.refresh();
    for (let part = 0; part < sizes.length; part++) {
      instance.numbers[table + 4 * part] = sizes[part] ?? -1;
    }
    exports.start(total, withheld, Number(isSplit));
    this.#usesForeignWindows = exports.tail.value > exports.mostHeld.value;
  }

  /** Returns a splitter for a chunk, or `undefined` where the module cannot be used. */
  static open(plan: ChunkPlan): WasmSplitter | undefined {
    const instance = acquireInstance();
    return instance && new WasmSplitter(instance, plan);
  }

  window(): Uint8Array {
    if (this.#usesForeignWindows) {
      return (this.#foreignWindows ??= new NativeWindows()).window();
    }
    const place = this.#exports.window();
    if (place === 0) throw outOfMemory();
    this.#instance.refresh();
    return this.#view(place, this.#exports.windowRoom());
  }

  take(bytes: Uint8Array): boolean {
    const windows = this.#foreignWindows;
    if (windows?.has(bytes)) {
      windows.take(bytes.length);
      windows.pass(bytes.length);
    }
    return this.#exports.take(bytes.length, this.#isOurs(bytes)) !== 0;
  }

  finish(): boolean {
    return this.#exports.finish() !== 0;
  }

  get firstPart(): number {
    return this.#answer(0);
  }

  get lastPart(): number {
    return this.#answer(1);
  }

  cutLength(part: number): number {
    return this.#column(part, 2);
  }

  cutInMemory(): Uint8Array {
    return this.#view(this.#answer(2), this.#answer(3));
  }

  keep(bytes: Uint8Array): void {
    if (bytes.length === 0 || this.#isOurs(bytes)) return;
    const place = this.#exports.keep(bytes.length);
    if (place === 0) throw outOfMemory();
    this.#instance.refresh();
    this.#instance.bytes.set(bytes, place);
  }

  takePart(bytes: Uint8Array): number {
    return this.#exports.takePart(bytes.length, this.#isOurs(bytes));
  }

  endPart(): boolean {
    return this.#exports.endPart() !== 0;
  }

  endChunk(): boolean {
    return this.#exports.endChunk() !== 0;
  }

  passable(): number {
    return this.#exports.passable();
  }

  sum(bytes: Uint8Array): void {
    const exports = this.#exports;
    const { length } = bytes;
    if (this.#isOurs(bytes)) return exports.sum(bytes.byteOffset, length);
    const block = exports.block.value;
    const most = exports.blockSize.value;
    for (let start = 0; start < length; start += most) {
      const end = Math.min(start + most, length);
      const copied = length <= most ? bytes : bytes.subarray(start, end);
      this.#instance.bytes.set(copied, block);
      exports.sum(block, end - start);
    }
  }

  checksum(): number {
    return this.#exports.checksum() >>> 0;
  }

  storedChecksum(): number {
    return this.#exports.storedChecksum() >>> 0;
  }

  computedChecksum(): number {
    return this.#exports.computedChecksum() >>> 0;
  }

  partLength(part: number): number {
    return this.#column(part, 1);
  }

  partChecksum(part: number): number {
    return this.#column(part, 3);
  }

  release(): void {
    this.#foreignWindows?.release();
    releaseInstance(this.#instance);
  }

  #isOurs(bytes: Uint8Array): 0 | 1 {
    return bytes.buffer === this.#instance.bytes.buffer ? 1 : 0;
  }

  #view(place: number, length: number): Uint8Array {
    return this.#instance.bytes.subarray(place, place + length);
  }

  #answer(index: number): number {
    const { numbers, answer } = this.#instance;
    return numbers[answer + index]!;
  }

  #column(part: number, column: number): number {
    const { numbers, table } = this.#instance;
    return numbers[table + 4 * part + column]!;
  }
}

function outOfMemory(): RangeError {
  return new RangeError("No memory is left to hold back bytes of the chunk");
}

/** The exports of `wasm/splitter.ts`, where the functions are described. Lengths and places are in bytes. */
interface SplitterExports {
  readonly memory: WebAssembly.Memory;
  readonly table: { readonly value: number };
  readonly answer: { readonly value: number };
  readonly block: { readonly value: number };
  readonly blockSize: { readonly value: number };
  readonly mostHeld: { readonly value: number };
  readonly tail: { readonly value: number };
  begin(parts: number): number;
  start(total: number, withheld: number, isSplit: number): void;
  window(): number;
  windowRoom(): number;
  take(length: number, isInWindow: number): number;
  finish(): number;
  keep(length: number): number;
  takePart(length: number, isInWindow: number): number;
  endPart(): number;
  endChunk(): number;
  passable(): number;
  sum(from: number, length: number): void;
  checksum(): number;
  storedChecksum(): number;
  computedChecksum(): number;
}

/** An instance of the module, and its memory as JavaScript sees it. */
class WasmInstance {
  readonly exports: SplitterExports;
  bytes!: Uint8Array;
  numbers!: Float64Array;
  /** The places of the table and of the answers in `numbers`. */
  readonly table: number;
  readonly answer: number;

  constructor(module: WebAssembly.Module) {
    const { exports } = new WebAssembly.Instance(module);
    this.exports = exports as unknown as SplitterExports;
    this.table = this.exports.table.value / 8;
    this.answer = this.exports.answer.value / 8;
    this.refresh();
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

/** Returns an instance for one chunk, or `undefined` where the module cannot be compiled or has no memory. */
function acquireInstance(): WasmInstance | undefined {
  const instance = idle.pop() ?? newInstance();
  if (instance !== undefined) inUse++;
  return instance;
}

/** Takes back an instance that nothing uses any more. */
function releaseInstance(instance: WasmInstance): void {
  inUse--;
  const { length } = instance.bytes;
  if (length <= MOST_MEMORY && idle.length < MOST_IDLE) idle.push(instance);
}

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
