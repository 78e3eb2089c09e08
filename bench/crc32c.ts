/** CRC32C beside other libraries, with the copy into the memory of the module: `deno task bench crc32c` */
import { crc32c as aws } from "@aws-crypto/crc32c";
import { createCRC32 } from "hash-wasm";
import { crc32c } from "../mod.ts";
import { crc32cByTables } from "../src/checksum/crc32c.ts";
import { KIB, MIB, randomBytes } from "./bytes.ts";
import {
  GIGABYTES,
  type Goal,
  type Report,
  type Row,
  sizeText,
} from "./comparison.ts";
import { BEFORE } from "./engines.ts";
import { type Contestant, measure } from "./measure.ts";
import type { Options } from "./options.ts";

const OURS = "zarr-parts";
const NODE_RS = "@node-rs/crc32";
const HASH_WASM = "hash-wasm";

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

/** One run takes data of at least this size, and slow libraries data of at least 1 MiB. */
const RUN = 32 * MIB;

interface Library {
  readonly name: string;
  readonly run: number;
  checksum(bytes: Uint8Array): number;
}

/** Data of 64 bytes to 64 MiB. */
export async function benchCrc32c(options: Options): Promise<Report> {
  const libraries = await allLibraries(options);
  const sizes = SIZES.filter(([size]) => !options.quick || size <= MIB);
  const data = randomBytes(sizes.at(-1)![0]);
  const rows: Row[] = [];
  for (const [size, goals] of sizes) {
    const bytes = data.subarray(0, size);
    rows.push({
      labels: [sizeText(size)],
      size,
      timings: await measure(
        libraries.map((library) => contestant(library, bytes)),
        options,
      ),
      goals: Object.entries(goals).map(([name, least]): Goal => ({
        of: OURS,
        against: [name],
        least,
      })),
    });
  }
  const names = libraries.map(({ name }) => name);
  return {
    comparisons: [{
      title: "CRC32C",
      heads: ["Data"],
      unit: GIGABYTES,
      rows,
    }],
    note:
      `Data in an ordinary \`Uint8Array\`. Ours includes the copy into the memory of the module; \`tables\` is our code without the module.${
        names.includes(NODE_RS) ? "" : ` ${NODE_RS} cannot run here.`
      }`,
  };
}

/** Each library, used the fastest way it has. */
async function allLibraries({ beside }: Options): Promise<Library[]> {
  // Its hexadecimal digest takes less time than its binary one.
  const hasher = await createCRC32(0x82f63b78);
  const libraries: Library[] = [
    { name: OURS, run: RUN, checksum: (bytes) => crc32c(bytes) },
    { name: "tables", run: RUN, checksum: (bytes) => crc32cByTables(bytes, 0) },
    {
      name: HASH_WASM,
      run: RUN,
      checksum: (bytes) => parseInt(hasher.init().update(bytes).digest(), 16),
    },
    { name: "@aws-crypto/crc32c", run: MIB, checksum: (bytes) => aws(bytes) },
  ];
  if (beside) {
    const { crc32c } = beside;
    libraries.push({
      name: BEFORE,
      run: RUN,
      checksum: (bytes) => crc32c(bytes),
    });
  }
  try {
    const { crc32c } = await import("@node-rs/crc32");
    libraries.push({
      name: NODE_RS,
      run: RUN,
      checksum: (bytes) => crc32c(bytes),
    });
  } catch {
    // The addon does not exist for every platform.
  }
  return libraries;
}

function contestant(
  { name, run, checksum }: Library,
  bytes: Uint8Array,
): Contestant {
  const passes = Math.max(1, Math.floor(run / bytes.length));
  return {
    name,
    amount: passes * bytes.length,
    run() {
      let sum = 0;
      for (let pass = 0; pass < passes; pass++) sum += checksum(bytes);
      return sum / passes;
    },
  };
}
