/** One way of doing the same work. */
export interface Contestant {
  readonly name: string;
  /** Does the work once, and returns a number made of all its results, so that none can be optimised away. */
  run(): number;
}

/**
 * The median time of each contestant in milliseconds, in their order. They take
 * turns, each round in another order, so that what slows the machine for a while,
 * or every now and then, slows them all. The first rounds, in which code is still
 * being compiled, do not count.
 */
export function medianTimes(
  contestants: readonly Contestant[],
  rounds: number,
  warmUpRounds = 5,
): number[] {
  const times: number[][] = contestants.map(() => []);
  const results = new Set<number>();
  for (const { index, counts } of turns(contestants, rounds, warmUpRounds)) {
    const start = performance.now();
    results.add(contestants[index]!.run());
    const time = performance.now() - start;
    if (counts) times[index]!.push(time);
  }
  assertAgreement(results);
  return times.map(median);
}

/** Whose turn it is, and whether its time counts; see {@linkcode medianTimes}. */
export function* turns(
  { length }: readonly unknown[],
  rounds: number,
  warmUpRounds: number,
): Iterable<{ index: number; counts: boolean }> {
  const random = seededRandom(length);
  for (let round = -warmUpRounds; round < rounds; round++) {
    const left = Array.from({ length }, (_, index) => index);
    while (left.length > 0) {
      const [index] = left.splice(Math.floor(random() * left.length), 1);
      yield { index: index!, counts: round >= 0 };
    }
  }
}

/** Refuses contestants that did not do the same work. */
export function assertAgreement(results: ReadonlySet<number>): void {
  if (results.size === 1) return;
  throw new Error(
    `The contestants disagree: ${Array.from(results).join(", ")}`,
  );
}

/** The middle one of the numbers in order, or the mean of the two in the middle. */
export function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? sorted[middle]!
    : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** Random numbers from 0 to below 1 that are the same in every run (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
