/** CRC32C beside other libraries, with the copy into the memory of the module: `deno task bench crc32c` */
import { crc32c as aws } from "@aws-crypto/crc32c";
import { createCRC32 } from "hash-wasm";
import { crc32c } from "../mod.ts";
import { crc32cByTables } from "../src/checksum/crc32c.ts";
import { KIB, MIB, randomBytes } from "./data.ts";
import { BEFORE } from "./engines.ts";
import { measure } from "./measure.ts";
import type { Options } from "./options.ts";
import { GIGABYTES, type Report, type Row, sizeText } from "./report.ts";

const OURS = "zarr-parts";
const NODE_RS = "@node-rs/crc32";
const HASH_WASM = "hash-wasm";
const AWS = "@aws-crypto/crc32c";

/** The sizes of data, and how many times as fast as other libraries ours must be. */
const SIZES: readonly [size: number, goals: Record<string, number>][] = [
  [64, {}],
  [256, {}],
  [KIB, {}],
  [4 * KIB, { [HASH_WASM]: 1 }],
  [64 * KIB, { [NODE_RS]: 1 }],
  [MIB, { [NODE_RS]: 2, [HASH_WASM]: 6 }],
  [8 * MIB, { [NODE_RS]: 2, [HASH_WASM]: 6 }],
  [64 * MIB, { [NODE_RS]: 2, [HASH_WASM]: 6 }],
];

/** One run takes data of at least this size, and a slow library data of at least 1 MiB. */
const RUN = 32 * MIB;

type Checksum = (bytes: Uint8Array) => number;

/** Data of 64 bytes to 64 MiB. */
export async function benchCrc32c(options: Options): Promise<Report> {
  const libraries = await allLibraries(options);
  const sizes = SIZES.filter(([size]) => !options.quick || size <= MIB);
  const data = randomBytes(sizes.at(-1)![0]);
  const rows: Row[] = [];
  for (const [size, goals] of sizes) {
    const bytes = data.subarray(0, size);
    const contestants = Object.entries(libraries).map(([name, checksum]) => {
      const run = name === AWS ? MIB : RUN;
      const passes = Math.max(1, Math.floor(run / size));
      return {
        name,
        amount: passes * size,
        run() {
          let sum = 0;
          for (let pass = 0; pass < passes; pass++) sum += checksum(bytes);
          return sum / passes;
        },
      };
    });
    rows.push({
      labels: [sizeText(size)],
      size,
      timings: await measure(contestants, options),
      goals: Object.entries(goals)
        .map(([name, bound]) => ({ of: OURS, against: [name], bound })),
    });
  }
  return {
    comparisons: [{
      title: "CRC32C",
      heads: ["Data"],
      unit: GIGABYTES,
      rows,
    }],
    note:
      `Data in an ordinary \`Uint8Array\`. Ours includes the copy into the memory of the module; \`tables\` is our code without the module. ${NODE_RS} is an addon that does not exist for every platform.`,
  };
}

/** Each library, used the fastest way it has. */
async function allLibraries(
  { beside }: Options,
): Promise<Readonly<Record<string, Checksum>>> {
  // Its hexadecimal digest takes less time than its binary one.
  const hasher = await createCRC32(0x82f63b78);
  const addon = await import("@node-rs/crc32").catch(() => undefined);
  return {
    [OURS]: (bytes) => crc32c(bytes),
    tables: (bytes) => crc32cByTables(bytes, 0),
    [HASH_WASM]: (bytes) => parseInt(hasher.init().update(bytes).digest(), 16),
    [AWS]: (bytes) => aws(bytes),
    ...addon && { [NODE_RS]: (bytes: Uint8Array) => addon.crc32c(bytes) },
    ...beside && { [BEFORE]: (bytes: Uint8Array) => beside.crc32c(bytes) },
  };
}
