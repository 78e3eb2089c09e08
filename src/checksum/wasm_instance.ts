import { WASM_BINARY } from "./wasm_binary.ts";

interface Exports {
  /** Grows with the instance, see {@linkcode WasmInstance}. */
  readonly memory: WebAssembly.Memory;
  /** Where data may lie in the memory. */
  readonly input: { readonly value: number };
  /** The CRC register after `length` more bytes at `from`. */
  register(before: number, from: number, length: number): number;
  /** For data in several pieces: starts with a register, */
  begin(before: number): void;
  /** takes `length` bytes, a multiple of 16, at `from`, */
  add(from: number, length: number): void;
  /** and tells the register after all of them. */
  end(): number;
}

const PAGE = 64 * 1024;

/** Which instance a memory is of. */
const instances = new WeakMap<ArrayBufferLike, WasmInstance>();

/** The module at work, with memory of its own that keeps its size. */
export class WasmInstance {
  readonly #exports: Exports;
  /** The part of the memory in which data may lie. */
  readonly input: Uint8Array;

  /**
   * @param module The compiled module.
   * @param inputSize How many bytes of data the memory has room for, a multiple of 16.
   * @throws {RangeError} Where there is no memory left.
   */
  constructor(module: WebAssembly.Module, inputSize: number) {
    const { exports } = new WebAssembly.Instance(module);
    this.#exports = exports as unknown as Exports;
    const { memory, input } = this.#exports;
    const missing = input.value + inputSize - memory.buffer.byteLength;
    memory.grow(Math.max(0, Math.ceil(missing / PAGE)));
    this.input = new Uint8Array(memory.buffer, input.value, inputSize);
    instances.set(memory.buffer, this);
  }

  /** The instance in whose memory bytes lie. */
  static ofMemory(bytes: Uint8Array): WasmInstance | undefined {
    return instances.get(bytes.buffer);
  }

  /** The CRC32C of bytes after others: in place if they lie in this memory, else they are copied in. */
  crc32c(bytes: Uint8Array, crc: number): number {
    if (bytes.buffer === this.input.buffer) {
      const { byteOffset, length } = bytes;
      return ~this.#exports.register(~crc, byteOffset, length) >>> 0;
    }
    return ~this.#copied(bytes, ~crc) >>> 0;
  }

  #copied(bytes: Uint8Array, register: number): number {
    const { input } = this;
    const { byteOffset, length } = input;
    let start = 0;
    if (bytes.length > length) {
      this.#exports.begin(register);
      for (; start + length <= bytes.length; start += length) {
        input.set(bytes.subarray(start, start + length));
        this.#exports.add(byteOffset, length);
      }
      register = this.#exports.end();
    }
    const rest = start === 0 ? bytes : bytes.subarray(start);
    input.set(rest);
    return this.#exports.register(register, byteOffset, rest.length);
  }
}

let compiled: WebAssembly.Module | undefined;

/**
 * The compiled module, or `undefined` where it cannot be had: without SIMD, or
 * where the runtime or a page's policy lets no module be compiled.
 */
export function compileModule(): WebAssembly.Module | undefined {
  if (compiled !== undefined) return compiled;
  try {
    const binary = Uint8Array.from(
      atob(WASM_BINARY),
      (character) => character.charCodeAt(0),
    );
    // The module is itself the probe: it is not valid where SIMD is unknown.
    if (!WebAssembly.validate(binary)) return undefined;
    return compiled = new WebAssembly.Module(binary);
  } catch {
    return undefined;
  }
}
