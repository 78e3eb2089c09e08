/** CRC32C in TypeScript and in Wasm, the CRC-32 of zips, and checksums at the end of bytes. */
export {
  appendChecksum,
  assertChecksum,
  CHECKSUM_SIZE,
  crc32,
  Crc32c,
  crc32c,
  crc32cByTables,
  joinCrc32c,
  verifyChecksum,
  withoutLastFour,
} from "./crc32c.ts";
export { compileModule } from "./wasm_crc32c.ts";
