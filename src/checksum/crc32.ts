import { nativeZlib } from "../runtime/native_zlib.ts";
import { crcByTables, type CrcTables, crcTables } from "./crc_tables.ts";

/** The polynomial of CRC-32, reflected. */
const POLYNOMIAL = 0xedb88320;

/** Made on first use. */
let tables: CrcTables | undefined;

/**
 * The CRC-32 of bytes, as zip and gzip have it. The runtime computes it if it can. Not
 * the CRC32C of Zarr, which has another polynomial.
 */
export function crc32(bytes: Uint8Array): number {
  return nativeZlib()?.crc32?.(bytes) ?? crc32ByTables(bytes);
}

/** The CRC-32 of bytes, by tables. */
export function crc32ByTables(bytes: Uint8Array): number {
  return crcByTables(tables ??= crcTables(POLYNOMIAL), bytes, 0);
}
