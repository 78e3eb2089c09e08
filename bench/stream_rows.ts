import type { EngineName } from "../src/checksum/engine.ts";
import { type AsyncContestant, type Timing, timings } from "./measure_async.ts";

const KIB = 1024;
const MIB = 1024 * KIB;
const SIZES = [
  ...[64, 256].map((size) => size * KIB),
  ...[1, 4, 16, 64, 256].map((size) => size * MIB),
];

/** The engines, `auto` first. */
export const ENGINES: readonly EngineName[] = ["auto", "wasm", "native"];

/** How much slower than the fastest an engine may be, and yet count as level with it. */
export const NOISE = 0.05;

/** Cuts a chunk without streams: so fast that its time stands for itself. */
export const WHOLE_SPLIT = "ConcatParts.split";

/** One size of chunk, split or joined. */
export interface StreamRow {
  readonly size: number;
  readonly hasChecksum: boolean;
  /** Of one pass over the chunk: first those of the engines, in their order, then those of the others. */
  readonly timings: readonly Timing[];
}

/** Who splits or joins a chunk. */
export interface Contestants {
  /** The engines in their order, and others that leave no garbage. */
  readonly engines: readonly AsyncContestant[];
  /**
   * Those that need memory anew for all bytes. They are measured by themselves: to
   * collect their garbage would cost whoever comes next the time.
   */
  readonly copying: readonly AsyncContestant[];
}

/** Measures all sizes, without and with checksum. */
export async function measureStreams(
  contestants: (size: number, hasChecksum: boolean) => Contestants,
): Promise<StreamRow[]> {
  const rows: StreamRow[] = [];
  for (const hasChecksum of [false, true]) {
    for (const size of SIZES) {
      const { engines, copying } = contestants(size, hasChecksum);
      const timings = [
        ...await timingsPerPass(engines, size),
        ...copying.length > 0 ? await timingsPerPass(copying, size) : [],
      ];
      rows.push({ size, hasChecksum, timings });
    }
  }
  return rows;
}

/** Which engines are the fastest of a row, but for noise, and how `auto` does beside the fastest. */
export function verdict(
  { timings }: StreamRow,
): { winners: string[]; ratio: number; isLevel: boolean } {
  const engines = timings.slice(0, ENGINES.length);
  const best = engines.reduce((a, b) => b.median < a.median ? b : a);
  const winners = engines.filter(({ median, lower }) =>
    best.median >= median * (1 - NOISE) || lower <= best.upper
  ).map(({ name }) => name);
  return {
    winners,
    ratio: best.median / engines[0]!.median,
    isLevel: winners.includes("auto"),
  };
}

async function timingsPerPass(
  contestants: readonly AsyncContestant[],
  size: number,
): Promise<Timing[]> {
  // Small chunks take too little time to be measured one by one.
  const passes = Math.max(1, 16 * MIB / size);
  const rounds = size < 64 * MIB ? 31 : 15;
  const repeated = contestants.map((contestant) => repeat(contestant, passes));
  const measured = await timings(repeated, rounds, 3);
  return measured.map((timing) => perPass(timing, passes));
}

function perPass(timing: Timing, passes: number): Timing {
  const { name, median, least, lower, upper } = timing;
  return {
    name,
    median: median / passes,
    least: least / passes,
    lower: lower / passes,
    upper: upper / passes,
  };
}

function repeat(
  { name, run }: AsyncContestant,
  passes: number,
): AsyncContestant {
  return {
    name,
    async run() {
      let sum = 0;
      for (let pass = 0; pass < passes; pass++) sum += await run();
      return sum;
    },
  };
}
