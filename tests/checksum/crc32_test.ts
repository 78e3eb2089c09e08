import { assertEquals } from "@std/assert";
import { createCRC32 } from "hash-wasm";
import { crc32, crc32ByTables } from "../../src/checksum/crc_tables.ts";
import { noise } from "./noise.ts";

const hasher = await createCRC32();

Deno.test("crc32 is the CRC-32 of zip, of bytes of every length up to 1000, natively and by tables", () => {
  const text = new TextEncoder().encode("123456789");
  assertEquals(crc32(text), 0xcbf43926);
  const bytes = noise(1007);
  for (let length = 0; length <= 1000; length++) {
    const some = bytes.subarray(length % 8, length % 8 + length);
    const expected = parseInt(hasher.init().update(some).digest(), 16);
    assertEquals(crc32(some), expected, `${length} bytes`);
    assertEquals(crc32ByTables(some), expected, `${length} bytes by tables`);
  }
});
