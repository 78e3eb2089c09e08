import type { EngineName } from "../../mod.ts";
import {
  crc32c,
  crc32cByTables,
  joinCrc32c,
} from "../../src/checksum/crc32c.ts";
import { WasmCrc32c } from "../../src/checksum/wasm_crc32c.ts";
import { openWasm } from "../../src/splitter/engines.ts";

/** The names of all engines. */
export const ENGINES = [
  "native",
  "wasm",
  "auto",
] as const satisfies EngineName[];

/** The CRC32C of bytes after others whose CRC32C is `crc`. */
export type Checksum = (bytes: Uint8Array, crc: number) => number;

const wasm = WasmCrc32c.open()!;

/** The checksum that the splitter in Wasm computes of one part, continued by that of bytes before. */
function crc32cOfEngine(bytes: Uint8Array, crc: number): number {
  const engine = openWasm({ sizes: [Infinity], tail: 0, end: Infinity });
  engine.take(bytes.length);
  engine.sum(0, bytes);
  engine.finish();
  const [checksum] = engine.checksums();
  engine.release();
  return joinCrc32c(crc, checksum!, bytes.length);
}

/** Every way of computing a CRC32C, by the name of its symbol. */
export const CHECKSUM_WAYS: readonly [string, Checksum][] = [
  ["crc32cByTables", crc32cByTables],
  ["WasmCrc32c", (bytes, crc) => wasm.crc32c(bytes, crc)],
  ["the engine wasm", crc32cOfEngine],
  ["crc32c", crc32c],
];
