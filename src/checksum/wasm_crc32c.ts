import { WASM_BINARY } from "./checksum_wasm.ts";

/** The compiled modules, by their base64. */
const compiled = new Map<string, WebAssembly.Module>();

/**
 * The compiled form of a module, or `undefined` where it cannot be had: without
 * SIMD, or where the runtime or a page's policy lets no module be compiled.
 *
 * @param base64 The binary module.
 */
export function compileModule(base64: string): WebAssembly.Module | undefined {
  const known = compiled.get(base64);
  if (known !== undefined) return known;
  try {
    const binary = Uint8Array.from(
      atob(base64),
      (character) => character.charCodeAt(0),
    );
    // The module is itself the probe: it is not valid where SIMD is unknown.
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

/** How many bytes are copied into the module's memory at once; they fit the cache. */
const INPUT_SIZE = 256 * 1024;

/** Computes CRC32Cs in the module, of data in foreign memory. */
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

  /** An instance, or `undefined` where there is no module, or no memory for it. */
  static open(): WasmCrc32c | undefined {
    try {
      const module = compileModule(WASM_BINARY);
      return module && new WasmCrc32c(module);
    } catch {
      return undefined;
    }
  }

  /** The CRC32C of bytes after bytes whose CRC32C is `crc`. */
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
