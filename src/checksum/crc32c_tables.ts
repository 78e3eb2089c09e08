import { crcByTables, type CrcTables, crcTables } from "./crc_tables.ts";
import { POLYNOMIAL } from "./crc32c_field.ts";

/** Made on first use. */
let tables: CrcTables | undefined;

/** The CRC32C of bytes that follow bytes whose CRC32C is `crc`, by tables. */
export function crc32cByTables(bytes: Uint8Array, crc: number): number {
  return crcByTables(tables ??= crcTables(POLYNOMIAL), bytes, crc);
}
