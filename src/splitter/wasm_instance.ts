import { compileModule } from "../checksum/wasm_module.ts";
import { WASM_BINARY } from "./wasm_binary.ts";

/** The exports of `wasm/splitter.ts`, where the functions are described. Lengths and places are in bytes. */
export interface SplitterExports {
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
export class WasmInstance {
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

  /** Looks at the memory anew if it has grown, which detaches views of it. */
  refresh(): void {
    const { buffer } = this.exports.memory;
    if (this.bytes?.buffer === buffer) return;
    this.bytes = new Uint8Array(buffer);
    this.numbers = new Float64Array(buffer);
  }
}

/** Instances of the module that nobody uses, to be used again: at most 34 MiB. */
const idle: WasmInstance[] = [];
const MOST_IDLE = 6;
let inUse = 0;
/** The memory of an instance with windows and a table of up to a thousand parts. An instance that has grown beyond is not used again. */
const MOST_MEMORY = 0x590000;

/** Returns an instance for one chunk, or `undefined` where there is no module, or no memory for it. */
export function acquireInstance(): WasmInstance | undefined {
  const instance = idle.pop() ?? newInstance();
  if (instance !== undefined) inUse++;
  return instance;
}

/** Takes back an instance that nothing uses any more. */
export function releaseInstance(instance: WasmInstance): void {
  inUse--;
  const { length } = instance.bytes;
  if (length <= MOST_MEMORY && idle.length < MOST_IDLE) idle.push(instance);
}

/** How many instances are used by chunks. */
export function instancesInUse(): number {
  return inUse;
}

/** A new instance, or `undefined` where there is no module, or no memory for it. */
function newInstance(): WasmInstance | undefined {
  const module = compileModule(WASM_BINARY);
  if (module === undefined) return undefined;
  try {
    return new WasmInstance(module);
  } catch {
    return undefined;
  }
}
