import { crc32c } from "../../src/checksum/crc32c.ts";
import { type EngineName, engineOf } from "../../src/checksum/engine.ts";

/** The names of all engines. */
export const ENGINES = [
  "native",
  "wasm",
  "auto",
] as const satisfies EngineName[];

/** The CRC32C of bytes after others whose CRC32C is `crc`. */
export type Checksum = (bytes: Uint8Array, crc: number) => number;

/** Each engine, and the public function, by the name of the symbol. */
export const CHECKSUM_WAYS: readonly [string, Checksum][] = [
  ...ENGINES.map((name): [string, Checksum] => [
    `Engine.crc32c, ${name},`,
    (bytes, crc) => engineOf(name).crc32c(bytes, crc),
  ]),
  ["crc32c", crc32c],
];
