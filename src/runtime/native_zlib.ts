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

/**
 * Returns the module `node:zlib` of Deno and Node, or `null` in other runtimes. The module
 * is not imported, since bundlers for browsers would look for it.
 */
export function nativeZlib(): NativeZlib | null {
  const { process } = globalThis as {
    process?: { getBuiltinModule?(name: string): unknown };
  };
  const zlib = process?.getBuiltinModule?.("node:zlib");
  return (zlib ?? null) as NativeZlib | null;
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
