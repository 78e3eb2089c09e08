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
