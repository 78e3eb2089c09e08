/** The speed around the sizes at which CRC32C changes its way: `deno task bench crossovers` */
import { crc32c, crc32cByTables } from "../src/checksum/crc32c.ts";
import { WasmCrc32c } from "../src/checksum/wasm_crc32c.ts";
import { KIB, MIB } from "./bytes.ts";
import { GIGABYTES, type Report, type Row } from "./comparison.ts";
import { type Contestant, measure } from "./measure.ts";
import type { Options } from "./options.ts";

const RUN = 4 * MIB;

/** A CRC32C of bytes after others. */
type Checksum = (bytes: Uint8Array, crc: number) => number;

/** Multiples of 16 bytes around `WASM_FROM` of `src/checksum/crc32c.ts`, and around the limits of `wasm/checksum.ts`. */
const LIMITS = {
  "WASM_FROM": [64, 128, 192, 224, 240, 256, 272, 320, 384, 512],
  "SHORT_FROM": [512, 640, 704, 736, 752, 768, 784, 832, 896, 1024],
  "SHORT_LIMIT": [24, 26, 28, 29, 30, 30.015625, 31, 32, 36, 40]
    .map((size) => size * KIB),
};

/** The tables, the module and the choice between them around each limit. */
export async function benchCrossovers(options: Options): Promise<Report> {
  const wasm = WasmCrc32c.open();
  if (wasm === undefined) throw new Error("This machine has no Wasm with SIMD");
  const ways: Record<string, Checksum> = {
    tables: crc32cByTables,
    wasm: (bytes, crc) => wasm.crc32c(bytes, crc),
    crc32c,
  };
  const comparisons = [];
  for (const [name, sizes] of Object.entries(LIMITS)) {
    comparisons.push({
      title: `CRC32C around ${name}`,
      heads: ["Bytes"],
      unit: GIGABYTES,
      rows: await rowsOf(ways, sizes, options),
    });
  }
  return {
    comparisons,
    note:
      "At each limit the speed must not jump: else the limit is at the wrong size.",
  };
}

async function rowsOf(
  ways: Record<string, Checksum>,
  sizes: readonly number[],
  options: Options,
): Promise<Row[]> {
  const memory = new Uint8Array(64 * KIB).fill(1);
  const rows: Row[] = [];
  for (const size of sizes) {
    const bytes = memory.subarray(0, size);
    const timings = await measure(
      Object.entries(ways).map(([name, way]) => contestant(name, way, bytes)),
      { ...options, seconds: options.seconds / 8 },
    );
    rows.push({ labels: [String(size)], timings, goals: [] });
  }
  return rows;
}

function contestant(
  name: string,
  checksum: Checksum,
  bytes: Uint8Array,
): Contestant {
  const passes = Math.ceil(RUN / bytes.length);
  return {
    name,
    amount: passes * bytes.length,
    run() {
      let crc = 0;
      for (let pass = 0; pass < passes; pass++) crc = checksum(bytes, crc);
      return crc;
    },
  };
}
