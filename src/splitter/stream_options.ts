import type { EngineName } from "./engine.ts";

/**
 * How a chunk is split or joined as a stream.
 *
 * @example Checked on the way
 * ```ts
 * import { ConcatParts, crc32c, splitStream, type SplitOptions } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const data = new Uint8Array([1, 2, 3]);
 * const checksum = new Uint8Array(new Uint32Array([crc32c(data)]).buffer);
 * const options: SplitOptions = { chunkSize: 7, crc32c: "verify", key: "/c/0" };
 * const parts = new ConcatParts([{ keySuffix: "" }, { keySuffix: ".crc32c", size: 4 }]);
 * const chunk = new Blob([data, checksum]).stream();
 * const { size } = await splitStream(chunk, parts, () => new WritableStream(), options);
 * assertEquals(size, 7);
 * ```
 */
export interface SplitOptions {
  /**
   * `"compute"` the CRC32C of the chunk and of each part, or `"verify"` besides that
   * the chunk ends with the CRC32C of all bytes before, as the `crc32c` codec
   * leaves it; if not given, `"none"`.
   */
  crc32c?: "none" | "compute" | "verify" | undefined;
  /** What computes checksums; if not given, `"auto"`. */
  engine?: EngineName | undefined;
  /**
   * The length of the chunk in bytes, if it is known. Another length is an error,
   * and splitting need not hold back as many bytes as the parts after the unsized
   * one take.
   */
  chunkSize?: number | undefined;
  /** The chunk's key, for messages and errors; if not given, parts are called by their key suffix. */
  key?: string | undefined;
  /** Aborts the work, which then fails with the signal's reason. */
  signal?: AbortSignal | undefined;
  /**
   * Is told how many bytes of the chunk have gone through, each time some have.
   *
   * @param size The number of bytes so far.
   */
  onProgress?: ((size: number) => void) | undefined;
}

/**
 * How parts are joined to a stream.
 *
 * @example
 * ```ts
 * import { concatStream, type ConcatOptions, ConcatParts } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const parts = new ConcatParts([{ keySuffix: ".head" }, { keySuffix: "" }]);
 * const options: ConcatOptions = {
 *   onReport: ({ parts }) => assertEquals(parts.map(({ size }) => size), [4, 5]),
 * };
 * const texts: Record<string, string> = { ".head": "1234", "": "56789" };
 * const chunk = concatStream(
 *   parts,
 *   ({ keySuffix }) => new Blob([texts[keySuffix]!]).stream(),
 *   options,
 * );
 * assertEquals(await new Response(chunk).text(), "123456789");
 * ```
 */
export interface ConcatOptions extends SplitOptions {
  /**
   * Is told what the parts were, once all of them have been joined and checked.
   *
   * @param report Sizes, and checksums if they were computed.
   */
  onReport?: ((report: SplitReport) => void) | undefined;
}

/**
 * What a chunk and its parts were that went through.
 *
 * @example
 * ```ts
 * import { ConcatParts, splitStream, type SplitReport } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const parts = new ConcatParts([{ keySuffix: "" }, { keySuffix: ".tail", size: 5 }]);
 * const chunk = new Blob(["123456789"]).stream();
 * const options = { crc32c: "compute" } as const;
 * const report: SplitReport = await splitStream(
 *   chunk,
 *   parts,
 *   () => new WritableStream(),
 *   options,
 * );
 * assertEquals(report, {
 *   size: 9,
 *   crc32c: 0xe3069283,
 *   parts: [
 *     { keySuffix: "", size: 4, crc32c: 0xf63af4ee },
 *     { keySuffix: ".tail", size: 5, crc32c: 0x83b565d8 },
 *   ],
 * });
 * ```
 */
export interface SplitReport {
  /** The length of the chunk in bytes. */
  readonly size: number;
  /** The CRC32C of the whole chunk, from 0 to 2^32−1, if it was computed. */
  readonly crc32c?: number;
  /** The parts, in their order. */
  readonly parts: readonly PartReport[];
}

/**
 * What one part was that went through.
 *
 * @example
 * ```ts
 * import type { PartReport } from "@zarr-parts/zarr-parts";
 *
 * const index: PartReport = { keySuffix: ".index", size: 1604, crc32c: 0xe3069283 };
 * ```
 */
export interface PartReport {
  /** The part's key suffix. */
  readonly keySuffix: string;
  /** Its length in bytes. */
  readonly size: number;
  /** Its CRC32C, from 0 to 2^32−1, if it was computed. */
  readonly crc32c?: number;
}
