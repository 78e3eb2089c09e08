/** Encodes and decodes chunk keys, beside zarrita and one-liners: `deno task bench keys` */
import * as zarr from "zarrita";
import { DefaultChunkKeyEncoding } from "../mod.ts";
import { KEYS, type Report, type Row } from "./comparison.ts";
import { type Contestant, measure, seededRandom } from "./measure.ts";
import type { Options } from "./options.ts";

const CHUNKS = 1 << 14;
const PASSES = 4;
const OURS = "zarr-parts";
const ZARRITA = "zarrita";
const ONE_LINER = "one-liner";
const SHORTER = "shorter one-liner";

/** The sizes of axes: mostly the small grids of real arrays, and some long axes such as time. */
const LIMITS = [16, 16, 16, 256, 256, 10_000, 1_000_000];

/** Keys of 16,384 chunks with three dimensions. */
export async function benchKeys(options: Options): Promise<Report> {
  const random = seededRandom(20240607);
  const below = (limit: number) => Math.floor(random() * limit);
  const coordinate = () => below(LIMITS[below(LIMITS.length)]!);
  const chunks = Array.from(
    { length: CHUNKS },
    () => [coordinate(), coordinate(), coordinate()],
  );
  const keys = chunks.map((chunk) => ["c", ...chunk].join("/"));
  const ours = new DefaultChunkKeyEncoding();
  const zarrita = zarritaEncoder();

  // Reading a character makes V8 write out a string that it has only noted as joined.
  const encode = await measure([
    contestant(OURS, chunks, (chunk) => {
      const key = ours.encode(chunk);
      return key.charCodeAt(key.length - 1);
    }),
    contestant(ZARRITA, chunks, (chunk) => {
      const key = zarrita(chunk);
      return key.charCodeAt(key.length - 1);
    }),
    contestant(ONE_LINER, chunks, (chunk) => {
      const key = ["c", ...chunk].join("/");
      return key.charCodeAt(key.length - 1);
    }),
  ], options);
  const decode = await measure([
    contestant(OURS, keys, (key) => {
      const chunk = ours.decode(key);
      return chunk[0]! + chunk[1]! + chunk[2]!;
    }),
    contestant(ONE_LINER, keys, (key) => {
      const chunk = key.split("/").map(Number);
      return chunk[1]! + chunk[2]! + chunk[3]!;
    }),
    contestant(SHORTER, keys, (key) => {
      const chunk = key.slice(2).split("/").map(Number);
      return chunk[0]! + chunk[1]! + chunk[2]!;
    }),
  ], options);
  const rows: Row[] = [{
    labels: ["encode"],
    timings: encode,
    goals: goals(1.5, ZARRITA, ONE_LINER),
  }, {
    labels: ["decode"],
    timings: decode,
    goals: goals(4, ONE_LINER, SHORTER),
  }];
  return {
    comparisons: [{
      title: "Chunk keys",
      heads: ["Work"],
      unit: KEYS,
      rows,
    }],
    note: `Keys of three dimensions, such as ${
      keys.slice(0, 3).join(", ")
    }. zarrita has no decoder. The one-liners are \`["c", ...chunk].join("/")\`, \`key.split("/").map(Number)\` and, shorter, \`key.slice(2).split("/").map(Number)\`; they check nothing.`,
  };
}

function goals(least: number, ...others: readonly string[]) {
  return others.map((other) => ({ of: OURS, against: [other], least }));
}

/** The encoder of zarrita, which it does not export; each of its arrays holds one under a symbol. */
function zarritaEncoder(): (chunk: number[]) => string {
  const array = new zarr.Array(new Map(), "/", {
    zarr_format: 3,
    node_type: "array",
    shape: [1, 1, 1],
    data_type: "uint8",
    chunk_grid: { name: "regular", configuration: { chunk_shape: [1, 1, 1] } },
    chunk_key_encoding: { name: "default", configuration: { separator: "/" } },
    codecs: [],
    fill_value: 0,
    attributes: {},
  });
  const symbol = Object.getOwnPropertySymbols(array).find((symbol) =>
    symbol.description === "zarrita.context"
  );
  const context = symbol && Reflect.get(array, symbol);
  if (typeof context?.encodeChunkKey !== "function") {
    throw new Error("This version of zarrita keeps its encoder elsewhere");
  }
  return context.encodeChunkKey;
}

/** Each contestant brings its own `use`, so that V8 compiles `use` for the results of one contestant. */
function contestant<Input>(
  name: string,
  inputs: readonly Input[],
  use: (input: Input) => number,
): Contestant {
  return {
    name,
    amount: inputs.length * PASSES,
    run() {
      let sum = 0;
      for (let pass = 0; pass < PASSES; pass++) {
        for (const input of inputs) sum += use(input);
      }
      return sum;
    },
  };
}
