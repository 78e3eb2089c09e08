/** The functions of `node:zlib` that are used here. */
export interface NativeZlib {
  readonly constants: Readonly<Record<string, number>>;
  readonly gzipSync: NativeCoder;
  readonly deflateSync: NativeCoder;
  readonly gunzipSync: NativeCoder;
  readonly inflateSync: NativeCoder;
  readonly deflateRawSync: NativeCoder;
  readonly inflateRawSync: NativeCoder;
  /** Missing before Node 22.2. */
  readonly crc32?: (bytes: Uint8Array) => number;
  /** Missing before Node 22.15. */
  readonly zstdCompressSync?: NativeCoder;
  readonly zstdDecompressSync?: NativeCoder;
}

/** A function of `node:zlib` that encodes or decodes bytes at once. */
export type NativeCoder = (bytes: Uint8Array, options: object) => Uint8Array;

/**
 * The module `node:zlib` of Deno and Node; `null` in other runtimes. It is not
 * imported, since bundlers for browsers would look for it.
 */
export function nativeZlib(): NativeZlib | null {
  const { process } = globalThis as {
    process?: { getBuiltinModule?(name: string): unknown };
  };
  const zlib = process?.getBuiltinModule?.("node:zlib");
  return (zlib ?? null) as NativeZlib | null;
}

/**
 * The `chunkSize` of a native coder, in bytes, for an output of this length. One
 * piece of memory for all of the output is faster than many of 16 KiB.
 */
export function pieceSize(length: number | undefined): number {
  return Math.min(Math.max(length ?? DEFAULT_PIECE, 64), LARGEST_PIECE);
}

/** The `maxOutputLength` of a native coder, in bytes; Node 20 has none above 4 GiB. */
export function outputLimit(limit: number): number {
  return Math.min(Math.max(limit, 1), 2 ** 32 - 1);
}

const DEFAULT_PIECE = 2 ** 16;
const LARGEST_PIECE = 2 ** 24;
