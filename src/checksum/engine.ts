import { crc32cByTables } from "./crc32c_tables.ts";
import { compileModule, WasmInstance } from "./wasm_instance.ts";
import { plainWindows, wasmWindows, type Windows } from "./windows.ts";

/**
 * What computes checksums: `"native"` TypeScript, the `"wasm"` module, or for each
 * piece of bytes the faster of them, `"auto"`. All have the same results. Where
 * the module cannot be used, for want of SIMD or of a permission to compile it,
 * all are `"native"`.
 *
 * @example
 * ```ts
 * import { ConcatParts, type EngineName, splitStream } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const parts = new ConcatParts([{ keySuffix: "" }]);
 * for (const engine of ["native", "wasm", "auto"] satisfies EngineName[]) {
 *   const chunk = new Blob(["123456789"]).stream();
 *   const options = { engine, crc32c: "compute" } as const;
 *   const report = await splitStream(chunk, parts, () => new WritableStream(), options);
 *   assertEquals(report.crc32c, 0xe3069283);
 * }
 * ```
 */
export type EngineName = "auto" | "native" | "wasm";

/** One way of computing checksums. */
export interface Engine {
  /** The CRC32C of bytes after bytes whose CRC32C is `crc`. */
  crc32c(bytes: Uint8Array, crc: number): number;
  /** Memory for bytes to pass through; best the one that checksums need no copy from. */
  windows(): Windows;
}

const native: Engine = { crc32c: crc32cByTables, windows: plainWindows };

/** From how many bytes on the call and the copy pay: `bench/crc32c.ts`. */
const WASM_FROM = 256;

/** How much the instance for bytes in foreign memory takes at once; it fits the cache. */
const INPUT = 256 * 1024;

function wasmEngine(module: WebAssembly.Module): Engine {
  const shared = new WasmInstance(module, INPUT);
  return {
    crc32c: (bytes, crc) =>
      (WasmInstance.ofMemory(bytes) ?? shared).crc32c(bytes, crc),
    windows: () => wasmWindows(module),
  };
}

function autoEngine(wasm: Engine): Engine {
  return {
    ...wasm,
    crc32c: (bytes, crc) =>
      bytes.length < WASM_FROM
        ? crc32cByTables(bytes, crc)
        : wasm.crc32c(bytes, crc),
  };
}

/** The engines, made when first needed. */
let engines: Record<EngineName, Engine> | undefined;

function makeEngines(): Record<EngineName, Engine> {
  try {
    const module = compileModule();
    if (module !== undefined) {
      const wasm = wasmEngine(module);
      return { auto: autoEngine(wasm), native, wasm };
    }
  } catch {
    // No memory left for an instance.
  }
  return { auto: native, native, wasm: native };
}

/**
 * The engine of a name.
 *
 * @throws {RangeError} A name of none.
 */
export function engineOf(name: EngineName): Engine {
  engines ??= makeEngines();
  if (!Object.hasOwn(engines, name)) {
    throw new RangeError(
      `Expected engine "auto", "native" or "wasm", found ${
        JSON.stringify(name)
      }`,
    );
  }
  return engines[name];
}
