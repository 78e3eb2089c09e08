/** The speed around the sizes at which CRC32C changes its way: `deno task bench crossovers` */
import {
  type Engine,
  type EngineName,
  engineOf,
} from "../src/checksum/engine.ts";
import { KIB, MIB } from "./bytes.ts";
import { GIGABYTES, type Report, type Row } from "./comparison.ts";
import { type Contestant, measure } from "./measure.ts";
import type { Options } from "./options.ts";

const RUN = 4 * MIB;
const ENGINES = ["native", "wasm", "auto"] satisfies EngineName[];

/** Sizes around `WASM_FROM` of `src/checksum/engine.ts`. */
const SMALL = [64, 128, 192, 224, 240, 256, 272, 320, 384, 512];
/** Multiples of 16 bytes around the limits of `wasm/crc32c.ts`. */
const LIMITS = {
  "SHORT_FROM": [512, 640, 704, 736, 752, 768, 784, 832, 896, 1024],
  "SHORT_LIMIT": [24, 26, 28, 29, 30, 30.015625, 31, 32, 36, 40]
    .map((size) => size * KIB),
};

/** Each engine around `WASM_FROM`, and the module in its own memory around its limits. */
export async function benchCrossovers(options: Options): Promise<Report> {
  const ordinary = new Uint8Array(KIB).fill(1);
  const small = await rowsOf(ENGINES, SMALL, ordinary, options);
  const windows = engineOf("wasm").windows();
  try {
    const window = windows.buffers[0]!.fill(1);
    const limits = [];
    for (const [name, sizes] of Object.entries(LIMITS)) {
      const rows = await rowsOf(["wasm"], sizes, window, options);
      limits.push(comparison(name, rows));
    }
    return {
      comparisons: [comparison("WASM_FROM", small), ...limits],
      note:
        "At each limit the speed must not jump: else the limit is at the wrong size.",
    };
  } finally {
    windows.release();
  }
}

function comparison(name: string, rows: readonly Row[]) {
  return {
    title: `CRC32C around ${name}`,
    heads: ["Bytes"],
    unit: GIGABYTES,
    rows,
  };
}

async function rowsOf(
  names: readonly EngineName[],
  sizes: readonly number[],
  memory: Uint8Array,
  options: Options,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (const size of sizes) {
    const bytes = memory.subarray(0, size);
    const timings = await measure(
      names.map((name) => contestant(name, engineOf(name), bytes)),
      { ...options, seconds: options.seconds / 8 },
    );
    rows.push({ labels: [String(size)], timings, goals: [] });
  }
  return rows;
}

function contestant(
  name: string,
  engine: Engine,
  bytes: Uint8Array,
): Contestant {
  const passes = Math.ceil(RUN / bytes.length);
  return {
    name,
    amount: passes * bytes.length,
    run() {
      let crc = 0;
      for (let pass = 0; pass < passes; pass++) {
        crc = engine.crc32c(bytes, crc);
      }
      return crc;
    },
  };
}
