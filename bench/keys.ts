/**
 * How many chunk keys are encoded and decoded a second, beside zarrita and the
 * usual one-liners: `deno task bench`. The
 * targets are what this project holds itself to.
 */
import * as zarr from "zarrita";
import { DefaultChunkKeyEncoding } from "../src/chunk_key_encoding/default_chunk_key_encoding.ts";
import { type Contestant, medianTimes, seededRandom } from "./measure.ts";

const CHUNKS = 1 << 14;
const PASSES = 4;
const ROUNDS = 41;
const OURS = "zarr-parts, checked";

/** Mostly the small grids of real arrays, with some long axes such as time. */
const LIMITS = [16, 16, 16, 256, 256, 10_000, 1_000_000];

const random = seededRandom(20240607);
const below = (limit: number) => Math.floor(random() * limit);
const coordinate = () => below(LIMITS[below(LIMITS.length)]!);
const chunks = Array.from(
  { length: CHUNKS },
  () => [coordinate(), coordinate(), coordinate()],
);
const keys = chunks.map((chunk) => ["c", ...chunk].join("/"));

const ours = new DefaultChunkKeyEncoding();
const zarritaEncode = zarritaEncoder();

console.log(
  `${CHUNKS} chunks of 3 dimensions, such as ${keys.slice(0, 4).join(", ")}
medians of ${ROUNDS} interleaved rounds of ${PASSES} passes, on Deno ${Deno.version.deno} with V8 ${Deno.version.v8}
`,
);
// Reading a character makes V8 write out a string that it has only noted as joined.
report("encode", 1.5, [
  contestant(OURS, chunks, (chunk) => {
    const key = ours.encode(chunk);
    return key.charCodeAt(key.length - 1);
  }),
  contestant("zarrita, its own encoder", chunks, (chunk) => {
    const key = zarritaEncode(chunk);
    return key.charCodeAt(key.length - 1);
  }),
  contestant('["c", ...chunk].join("/")', chunks, (chunk) => {
    const key = ["c", ...chunk].join("/");
    return key.charCodeAt(key.length - 1);
  }),
]);
report("decode", 4, [
  contestant(OURS, keys, (key) => {
    const chunk = ours.decode(key);
    return chunk[0]! + chunk[1]! + chunk[2]!;
  }),
  contestant('split("/").map(Number)', keys, (key) => {
    const chunk = key.split("/").map(Number);
    return chunk[1]! + chunk[2]! + chunk[3]!;
  }),
  contestant('slice(2).split("/").map(Number)', keys, (key) => {
    const chunk = key.slice(2).split("/").map(Number);
    return chunk[0]! + chunk[1]! + chunk[2]!;
  }),
]);
console.log(
  "zarrita has no decoder. The one-liners check nothing, and the first keeps NaN for the c.",
);

/** zarrita exports no encoder, but each of its arrays holds one, under a symbol. */
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

/** Each contestant brings its own `use`, so that V8 compiles it for that one's results alone. */
function contestant<Input>(
  name: string,
  inputs: readonly Input[],
  use: (input: Input) => number,
): Contestant {
  return {
    name,
    run() {
      let sum = 0;
      for (let pass = 0; pass < PASSES; pass++) {
        for (const input of inputs) sum += use(input);
      }
      return sum;
    },
  };
}

/** Prints keys a second of all contestants, and how the first does beside the others. */
function report(
  what: string,
  target: number,
  contestants: readonly Contestant[],
): void {
  const times = medianTimes(contestants, ROUNDS);
  console.log(
    what.padEnd(34) + "keys/s".padStart(12) + "ours is".padStart(12) +
      "target".padStart(12),
  );
  contestants.forEach(({ name }, index) => {
    const perSecond = CHUNKS * PASSES * 1000 / times[index]!;
    const ratio = times[index]! / times[0]!;
    console.log(
      `  ${name}`.padEnd(34) +
        `${(perSecond / 1e6).toFixed(2)} M`.padStart(12) +
        (index === 0
          ? ""
          : `${ratio.toFixed(2)} x`.padStart(12) + `${target} x`.padStart(12)),
    );
  });
  console.log();
}
