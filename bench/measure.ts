/** One way of doing the work that a row of a table is about. */
export interface Contestant {
  readonly name: string;
  /** How much work one run does, in the unit of the table: bytes, chunks or keys. If not given, 1. */
  readonly amount?: number;
  /** Runs before each measured run, outside the measured time. */
  prepare?(): Promise<void>;
  /**
   * Does the work.
   *
   * @returns A number made of all results, which must be the same for all
   * contestants.
   */
  run(): number | Promise<number>;
}

/** How long the runs of one contestant took. */
export interface Timing {
  readonly name: string;
  /** The amount of work of one run. */
  readonly amount: number;
  /** The time of each run in milliseconds, one per round. */
  readonly times: readonly number[];
}

/** How many rounds are measured: until the time is over, within the limits. */
export interface Effort {
  readonly seconds: number;
  /** The least number of rounds; if not given, 9. */
  readonly least?: number;
  /** The greatest number of rounds; if not given, 101. */
  readonly most?: number;
  /** The rounds before, which do not count, since code is still being compiled; if not given, 3. */
  readonly warmUps?: number;
}

/**
 * Measures contestants in interleaved rounds: each contestant runs once a round,
 * and each round has another order, so that a disturbance of the machine slows
 * all contestants alike.
 *
 * @returns One timing per contestant, in their order.
 * @throws {Error} If the results of two runs differ.
 */
export async function measure(
  contestants: readonly Contestant[],
  { seconds, least = 9, most = 101, warmUps = 3 }: Effort,
): Promise<Timing[]> {
  const times: number[][] = contestants.map(() => []);
  const random = seededRandom(contestants.length);
  const results = new Map<number, string>();
  let begin = performance.now();
  for (let round = -warmUps; round < most; round++) {
    if (round === 0) begin = performance.now();
    if (round >= least && performance.now() - begin > seconds * 1000) break;
    for (const index of shuffled(contestants.length, random)) {
      const contestant = contestants[index]!;
      await contestant.prepare?.();
      const start = performance.now();
      const result = await contestant.run();
      const time = performance.now() - start;
      results.set(result, contestant.name);
      if (round >= 0) times[index]!.push(time);
    }
    assertAgreement(results);
  }
  const timings = contestants.map(({ name, amount = 1 }, i) => ({
    name,
    amount,
    times: times[i]!,
  }));
  // Shows that the work goes on, since tables are printed at the end of a benchmark.
  console.error(`  ${timings.map(textOf).join(", ")}`);
  return timings;
}

function textOf({ name, times }: Timing): string {
  return `${name} ${median(times).toPrecision(3)} ms`;
}

/**
 * How many times as fast one contestant is as another: the median of the ratios
 * of the single rounds, in which both met the same conditions.
 */
export function ratio(one: Timing, other: Timing): number {
  const amounts = one.amount / other.amount;
  return median(one.times.map((time, i) => amounts * other.times[i]! / time));
}

/** The middle number, or the mean of the two in the middle. */
export function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? sorted[middle]!
    : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** Random numbers from 0 to below 1, the same in every run (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function shuffled(length: number, random: () => number): number[] {
  const order = Array.from({ length }, (_, i) => i);
  for (let i = length - 1; i > 0; i--) {
    const other = Math.floor(random() * (i + 1));
    [order[i], order[other]] = [order[other]!, order[i]!];
  }
  return order;
}

function assertAgreement(results: ReadonlyMap<number, string>): void {
  if (results.size === 1) return;
  const found = Array.from(results, ([result, name]) => `${name}: ${result}`);
  throw new Error(`The contestants disagree: ${found.join(", ")}`);
}
