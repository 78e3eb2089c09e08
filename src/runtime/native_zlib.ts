import { freeMemory, ownBytes } from "./bytes.ts";

/** The members of `node:zlib` that this package uses. */
export interface NativeZlib {
  readonly constants: Readonly<Record<string, number>>;
  readonly gzipSync: NativeCoder;
  readonly deflateSync: NativeCoder;
  readonly gunzipSync: NativeCoder;
  readonly inflateSync: NativeCoder;
  readonly deflateRawSync: NativeCoder;
  readonly inflateRawSync: NativeCoder;
  /** Missing before Node 22.2. */
  readonly crc32?: (bytes: Uint8Array, before?: number) => number;
  /** Missing before Node 22.15. */
  readonly zstdCompressSync?: NativeCoder;
  readonly zstdDecompressSync?: NativeCoder;
  readonly ZstdCompress?: new (options: object) => unknown;
  readonly ZstdDecompress?: new (options: object) => unknown;
}

/** A function of `node:zlib` that encodes or decodes bytes at once. */
type NativeCoder = (bytes: Uint8Array, options: object) => Uint8Array;

/** The global `process`. Its first use takes Deno some 30 ms in each thread. */
interface Process {
  getBuiltinModule?(name: string): unknown;
  readonly versions?: { readonly zstd?: string };
}

/**
 * Returns the module `node:zlib` of Deno and Node, or `null` in other runtimes. The module
 * is not imported, since bundlers for browsers would look for it. Codecs call this function
 * when they decode or encode, since the first call takes Deno some 30 ms in each thread.
 */
export function nativeZlib(): NativeZlib | null {
  if (loadedZlib === undefined) {
    const { process } = globalThis as { process?: Process };
    const zlib = process?.getBuiltinModule?.("node:zlib");
    loadedZlib = (zlib ?? null) as NativeZlib | null;
  }
  return loadedZlib;
}

let loadedZlib: NativeZlib | null | undefined;

/** Whether `node:zlib` has zstd. The module is not loaded. */
export function hasNativeZstd(): boolean {
  // Asked first, since `process` takes time in Deno, which has zstd from 2.5 on.
  const deno = /^Deno\/(\d+)\.(\d+)/.exec(
    globalThis.navigator?.userAgent ?? "",
  );
  if (deno !== null) {
    const [major, minor] = deno.slice(1).map(Number);
    return major! > 2 || major === 2 && minor! >= 5;
  }
  const { process } = globalThis as { process?: Process };
  return process?.getBuiltinModule !== undefined &&
    process.versions?.zstd !== undefined;
}

const DEFAULT_PIECE = 2 ** 16;
const LARGEST_PIECE = 2 ** 24;

/**
 * Returns the `chunkSize` of a native coder for an output of some length, in bytes. One
 * piece of memory for all of the output is faster than many of 16 KiB.
 */
export function pieceSize(length: number | undefined): number {
  return Math.min(Math.max(length ?? DEFAULT_PIECE, 64), LARGEST_PIECE);
}

/** Returns the `maxOutputLength` of a native coder in bytes. Node 20 accepts none above 4 GiB. */
export function outputLimit(limit: number): number {
  return Math.min(Math.max(limit, 1), 2 ** 32 - 1);
}

/** Returns the output of a native coder in memory of its own, and frees the piece of memory that held it. */
export function ownOutput(output: Uint8Array): Uint8Array {
  const own = ownBytes(output);
  if (own.buffer !== output.buffer) freeMemory(output.buffer);
  return own;
}
