import { openNative } from "./native_splitter.ts";
import type { ChunkPlan, OpenSplitter, Splitter } from "./splitter.ts";
import { WasmSplitter } from "./wasm_splitter.ts";

/**
 * The engine that splits or joins a chunk: `"native"` TypeScript, the `"wasm"`
 * module, or the faster of them, `"auto"`. The results are the same. Where the runtime
 * lacks SIMD or memory for the module, or may not compile it, `"native"` is used
 * instead of the others.
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

/**
 * Chooses the engine for a chunk.
 *
 * `"auto"` is `"wasm"` if a checksum is computed, and `"native"` if not. This holds
 * for every kind of source and sink: with a checksum, the module is 2.6 to 6 times as
 * fast. Without one, no engine reads the bytes: both take the same time within
 * 10 %, mostly in favour of `"native"`, which also needs no module to be compiled. The
 * figures are those of `deno task bench kinds`, in `bench/results/kinds.md`.
 *
 * @param hasChecksums Whether checksums are computed.
 */
export function openerOf(
  name: EngineName,
  hasChecksums: boolean,
): OpenSplitter {
  const isWasm = name === "wasm" || name === "auto" && hasChecksums;
  return isWasm ? openWasm : openNative;
}

/** Starts a splitter of the engine in Wasm, or of the one in TypeScript where the module cannot be used. */
function openWasm(plan: ChunkPlan): Splitter {
  return WasmSplitter.open(plan) ?? openNative(plan);
}
