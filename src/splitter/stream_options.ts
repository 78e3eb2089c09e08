import { CHECKSUM_SIZE } from "../checksum/mod.ts";
import {
  checkOptions,
  describe,
  describeAll,
  FUNCTION,
  oneOf,
  type OptionRule,
  type OptionRules,
  PartSizeError,
  SIGNAL,
  TEXT,
} from "../errors/mod.ts";

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
 * Options of `splitStream`.
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
   * `"compute"` computes the CRC32C of the chunk and of each part. `"verify"` also
   * checks that the chunk ends with the CRC32C of all bytes before, as the `crc32c`
   * codec writes it. The default is `"none"`.
   */
  crc32c?: "none" | "compute" | "verify" | undefined;
  /** The engine that splits or joins the chunk. The default is `"auto"`. */
  engine?: EngineName | undefined;
  /**
   * The length of the chunk in bytes, if it is known. A chunk of another length is an
   * error. If the length is known, `splitStream` does not hold back the bytes of the
   * parts after the unsized part.
   */
  chunkSize?: number | undefined;
  /** The key of the chunk, for errors. By default, errors name parts by their key suffix. */
  key?: string | undefined;
  /** Aborts the work, which then fails with the reason of the signal. */
  signal?: AbortSignal | undefined;
  /**
   * Called after each write of a split, and after each read of a join.
   *
   * @param size The number of bytes of the chunk that have been written or read so far.
   */
  onProgress?: ((size: number) => void) | undefined;
}

/**
 * Options of `concatStream`.
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
   * Called once all parts have been joined and checked.
   *
   * @param report The lengths of the parts, and their checksums if they were computed.
   */
  onReport?: ((report: SplitReport) => void) | undefined;
}

/**
 * The lengths and checksums of a chunk and its parts.
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
  /** The parts in the order of the chunk. */
  readonly parts: readonly PartReport[];
}

/**
 * The length and checksum of one part.
 *
 * @example
 * ```ts
 * import type { PartReport } from "@zarr-parts/zarr-parts";
 *
 * const index: PartReport = { keySuffix: ".index", size: 1604, crc32c: 0xe3069283 };
 * ```
 */
export interface PartReport {
  /** The key suffix of the part. */
  readonly keySuffix: string;
  /** The length of the part in bytes. */
  readonly size: number;
  /** The CRC32C of the part, from 0 to 2^32−1, if it was computed. */
  readonly crc32c?: number;
}

function nameOf(...names: string[]): OptionRule {
  return { ...oneOf(...names), outOfRange: "all" };
}

/** The rules of the options of `splitStream` and `concatStream`. */
const OPTIONS: OptionRules<ConcatOptions> = {
  crc32c: /* @__PURE__ */ nameOf("none", "compute", "verify"),
  engine: /* @__PURE__ */ nameOf("auto", "native", "wasm"),
  chunkSize: {
    expected: "a whole number of bytes from 0 to 2^53−1",
    isValid: (value) => Number.isSafeInteger(value) && value as number >= 0,
    outOfRange: "all",
  },
  key: TEXT,
  signal: SIGNAL,
  onProgress: FUNCTION,
  onReport: FUNCTION,
};

const ROOM_FOR_CHECKSUM: ChunkSizes = {
  least: CHECKSUM_SIZE,
  most: Infinity,
  reason: `the checksum at its end takes ${CHECKSUM_SIZE}`,
};

/** The options of splitting and joining, checked, with their defaults. */
export interface Settings {
  readonly parts: readonly Part[];
  /** The lengths that the chunk may have. */
  readonly limits: readonly ChunkSizes[];
  readonly chunkSize: number | undefined;
  /** Whether CRC32Cs are computed. */
  readonly hasChecksums: boolean;
  /** Whether the last four bytes must be the CRC32C of those before. */
  readonly isVerified: boolean;
  /** The key of the chunk; may be empty. */
  readonly key: string;
  readonly signal: AbortSignal | undefined;
  readonly onProgress: ((size: number) => void) | undefined;
}

/**
 * Checks options.
 *
 * @param limits The lengths that the parts allow for the chunk.
 * @throws {RangeError} If an option is outside its range.
 * @throws {PartSizeError} If the limits do not allow `chunkSize`.
 */
export function settingsOf(
  parts: readonly Part[],
  limits: readonly ChunkSizes[],
  options: SplitOptions,
): Settings {
  checkOptions(options, OPTIONS, "splitStream and concatStream");
  const { crc32c = "none", chunkSize, key = "", signal, onProgress } = options;
  const isVerified = crc32c === "verify";
  const all = [...limits];
  if (chunkSize !== undefined) {
    for (const limit of limits) assertChunkSize(limit, key, chunkSize);
    const reason = `chunkSize says ${chunkSize}`;
    all.push({ least: chunkSize, most: chunkSize, reason });
  }
  if (isVerified) all.push(ROOM_FOR_CHECKSUM);
  return {
    parts,
    limits: all,
    chunkSize,
    hasChecksums: crc32c !== "none",
    isVerified,
    key,
    signal,
    onProgress,
  };
}

/**
 * One part of a chunk, as the metadata of `concat-parts` lists it.
 *
 * @example
 * ```ts
 * import type { Part } from "@zarr-parts/zarr-parts";
 *
 * const data: Part = { keySuffix: "" };
 * const index: Part = { keySuffix: ".index", size: 1604 };
 * ```
 */
export interface Part {
  /** The part key is the chunk key followed by this suffix, which may be empty. */
  readonly keySuffix: string;
  /**
   * The length of the part in bytes, from 0 to 2^53−1. A part without a size takes
   * the bytes that the other parts leave.
   */
  readonly size?: number | undefined;
}

/** Returns parts in the order in which they are stored: the unsized part first, then the others. */
export function storingOrder(parts: readonly Part[]): Part[] {
  const unsized = parts.filter((part) => part.size === undefined);
  return [...unsized, ...parts.filter((part) => part.size !== undefined)];
}

/** The least and the greatest number of bytes that a chunk may have, and the reason for messages. */
interface ChunkSizes {
  readonly least: number;
  readonly most: number;
  readonly reason: string;
}

/**
 * Returns the lengths that the sizes of parts allow.
 *
 * @throws {TypeError} If more than one part lacks a size.
 */
export function chunkSizes(parts: readonly Part[]): ChunkSizes {
  const unsized = parts.filter((part) => part.size === undefined);
  if (unsized.length > 1) {
    throw new TypeError(
      `Cannot tell where the parts ${
        describeAll(unsized.map((part) => part.keySuffix))
      } begin: to write, at most one part may lack a size`,
    );
  }
  const least = parts.reduce((sum, part) => sum + (part.size ?? 0), 0);
  const most = unsized.length === 0 ? least : Infinity;
  const wanted = `${most === least ? "exactly" : "at least"} ${least}`;
  return { least, most, reason: `its sized parts take ${wanted}` };
}

/**
 * Throws if limits do not allow the length of a chunk.
 *
 * @param key The key of the chunk, for the message; may be empty.
 * @param isWhole Whether the chunk ends here. If not, the length may be too small.
 * @throws {PartSizeError} If the length is too large or too small.
 */
export function assertChunkSize(
  { least, most, reason }: ChunkSizes,
  key: string,
  actual: number,
  isWhole = true,
): void {
  if (actual <= most && (actual >= least || !isWhole)) return;
  const chunk = key === "" ? "Chunk" : `Chunk ${describe(key)}`;
  const found = isWhole ? actual : `at least ${actual}`;
  throw new PartSizeError(`${chunk} is ${found} bytes long, where ${reason}`, {
    key,
    expected: actual > most ? most : least,
    actual,
  });
}
