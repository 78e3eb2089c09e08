import { assertAgreement, median, turns } from "./measure.ts";

/** One way of doing the same work that has to be waited for. */
export interface AsyncContestant {
  readonly name: string;
  /** Does what must be done before each run, outside the measured time. */
  prepare?(): Promise<void>;
  /** Does the work once, and resolves to a number made of all its results. */
  run(): Promise<number>;
}

/** How long the runs of one contestant took, in milliseconds. */
export interface Timing {
  readonly name: string;
  readonly median: number;
  readonly least: number;
  /** Between these is the middle half of the times. */
  readonly lower: number;
  readonly upper: number;
}

/** The times of the contestants, in their order, measured as `medianTimes` does. */
export async function timings(
  contestants: readonly AsyncContestant[],
  rounds: number,
  warmUpRounds: number,
): Promise<Timing[]> {
  const times: number[][] = contestants.map(() => []);
  const results = new Set<number>();
  for (const { index, counts } of turns(contestants, rounds, warmUpRounds)) {
    const contestant = contestants[index]!;
    await contestant.prepare?.();
    const start = performance.now();
    results.add(await contestant.run());
    const time = performance.now() - start;
    if (counts) times[index]!.push(time);
  }
  assertAgreement(results);
  return contestants.map(({ name }, index) => timing(name, times[index]!));
}

function timing(name: string, times: readonly number[]): Timing {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number) =>
    sorted[Math.round(share * (sorted.length - 1))]!;
  return {
    name,
    median: median(sorted),
    least: at(0),
    lower: at(0.25),
    upper: at(0.75),
  };
}
