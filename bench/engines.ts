/** The contestants of the benchmarks that split and join: the engines, and a version of the package to compare with. */
import type { EngineName, SplitReport } from "../mod.ts";
import * as current from "../mod.ts";
import type { Contestant } from "./measure.ts";
import type { Library } from "./options.ts";
import type { Goal } from "./report.ts";

/** The name of the contestant that `--beside` brings. */
export const BEFORE = "before";

/** `auto` is at most 2 % slower than the better engine. */
export const AUTO_GOAL: Goal = {
  of: "auto",
  against: ["wasm", "native"],
  bound: 0.98,
};

/** How a contestant splits or joins. */
export interface Way {
  /** The package, in this version or another. */
  readonly library: Library;
  readonly engine: EngineName;
}

/**
 * One contestant per engine and, if there is one, the library beside with its
 * `auto` engine.
 *
 * @param amount The amount of work of one run.
 * @param contestant The work, for one library and engine.
 */
export function engineContestants(
  amount: number,
  beside: Library | undefined,
  contestant: (way: Way) => Pick<Contestant, "run" | "prepare">,
): Contestant[] {
  const ways: [string, Way][] = (["auto", "wasm", "native"] as const).map((
    engine,
  ) => [engine, { library: current, engine }]);
  if (beside) ways.push([BEFORE, { library: beside, engine: "auto" }]);
  return ways.map(([name, way]) => ({ name, amount, ...contestant(way) }));
}

/** A number made of all that a report says. */
export function reportNumber({ size, crc32c, parts }: SplitReport): number {
  return parts.reduce(
    (sum, part, i) => sum + (i + 2) * (part.size + (part.crc32c ?? 0)),
    size + (crc32c ?? 0),
  );
}
