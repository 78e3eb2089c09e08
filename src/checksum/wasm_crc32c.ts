import { decodeBase64 } from "../runtime/mod.ts";
import { WASM_BINARY } from "./checksum_wasm.ts";

/** The compiled modules, by their text in base64. */
const compiled = new Map<string, WebAssembly.Module>();

/**
 * Compiles a module. Returns `undefined` where this is not possible: without SIMD, or if
 * the runtime or the policy of a page forbids to compile modules.
 *
 * @param base64 The binary module in base64.
 */
export function compileModule(base64: string): WebAssembly.Module | undefined {
  const known = compiled.get(base64);
  if (known !== undefined) return known;
  try {
    const binary = decodeBase64(base64);
    // A module with SIMD is not valid where SIMD is not supported.
    if (!WebAssembly.validate(binary)) return undefined;
    const module = new WebAssembly.Module(binary);
    compiled.set(base64, module);
    return module;
  } catch {
    return undefined;
  }
}

/** The exports of `wasm/checksum.ts`. */
interface Exports {
  readonly memory: WebAssembly.Memory;
  /** The place of the data in the memory. */
  readonly input: { readonly value: number };
  /** Returns the CRC register after `length` more bytes at `from`. */
  register(before: number, from: number, length: number): number;
  /** Starts data in several pieces with a CRC register. */
  begin(before: number): void;
  /** Adds a piece of `length` bytes, a multiple of 16, at `from`. */
  add(from: number, length: number): void;
  /** Returns the CRC register after all pieces. */
  end(): number;
}

const PAGE = 64 * 1024;

/** How many bytes are copied into the module's memory at once. They fit into the cache. */
const INPUT_SIZE = 256 * 1024;

/** Computes the CRC32C of bytes, which are copied into the memory of the module. */
export class WasmCrc32c {
  readonly #exports: Exports;
  readonly #input: Uint8Array;

  private constructor(module: WebAssembly.Module) {
    const { exports } = new WebAssembly.Instance(module);
    this.#exports = exports as unknown as Exports;
    const { memory, input } = this.#exports;
    const missing = input.value + INPUT_SIZE - memory.buffer.byteLength;
    memory.grow(Math.max(0, Math.ceil(missing / PAGE)));
    this.#input = new Uint8Array(memory.buffer, input.value, INPUT_SIZE);
  }

  /** Returns an instance, or `undefined` where the module cannot be compiled or has no memory. */
  static open(): WasmCrc32c | undefined {
    try {
      const module = compileModule(WASM_BINARY);
      return module && new WasmCrc32c(module);
    } catch {
      return undefined;
    }
  }

  /** Returns the CRC32C of bytes that follow bytes whose CRC32C is `crc`. */
  crc32c(bytes: Uint8Array, crc: number): number {
    const input = this.#input;
    const { byteOffset, length } = input;
    let register = ~crc;
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
    return ~this.#exports.register(register, byteOffset, rest.length) >>> 0;
  }
}
