/** Encodes and decodes chunk keys, beside zarrita and one-liners: `deno task bench keys` */
import * as zarr from "zarrita";
import { arrayMetadata, DefaultChunkKeyEncoding } from "../mod.ts";
import { type Contestant, measure, seededRandom } from "./measure.ts";
import type { Options } from "./options.ts";
import { KEYS, type Report } from "./report.ts";

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
  const last = (key: string) => key.charCodeAt(key.length - 1);
  const encode = await measure([
    contestant(OURS, chunks, (chunk) => last(ours.encode(chunk))),
    contestant(ZARRITA, chunks, (chunk) => last(zarrita(chunk))),
    contestant(ONE_LINER, chunks, (chunk) => last(["c", ...chunk].join("/"))),
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
  const goals = (bound: number, ...others: readonly string[]) =>
    others.map((other) => ({ of: OURS, against: [other], bound }));
  return {
    comparisons: [{
      title: "Chunk keys",
      heads: ["Work"],
      unit: KEYS,
      rows: [{
        labels: ["encode"],
        timings: encode,
        goals: goals(1.5, ZARRITA, ONE_LINER),
      }, {
        labels: ["decode"],
        timings: decode,
        goals: goals(4, ONE_LINER, SHORTER),
      }],
    }],
    note: `Keys of three dimensions, such as ${
      keys.slice(0, 3).join(", ")
    }. zarrita has no decoder. The one-liners are \`["c", ...chunk].join("/")\`, \`key.split("/").map(Number)\` and, shorter, \`key.slice(2).split("/").map(Number)\`; they check nothing.`,
  };
}

/** The encoder of zarrita, which it does not export; each of its arrays holds one under a symbol. */
function zarritaEncoder(): (chunk: number[]) => string {
  const metadata = arrayMetadata({
    shape: [1, 1, 1],
    dataType: "uint8",
    chunkShape: [1, 1, 1],
  });
  const array = new zarr.Array(new Map(), "/", metadata as never);
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
