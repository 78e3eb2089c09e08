import { ratio, speed, type Timing } from "./measure.ts";
import type { Table } from "./table.ts";

/** How fast one contestant must be beside others. */
export interface Goal {
  readonly of: string;
  /** The other contestants. The fastest of them counts. */
  readonly against: readonly string[];
  /** The least ratio of their speeds. */
  readonly least: number;
}

/** The measurements of one row. */
export interface Row {
  /** The cells before the numbers. */
  readonly labels: readonly string[];
  /** The size of the data in bytes, for a chart that shows speed over size. */
  readonly size?: number;
  readonly timings: readonly Timing[];
  readonly goals: readonly Goal[];
}

/** A unit of speed. */
export interface Unit {
  readonly name: string;
  /** How many of this unit one amount per millisecond is. */
  readonly factor: number;
}

export const GIGABYTES: Unit = { name: "GB/s", factor: 1e-6 };
export const CHUNKS: Unit = { name: "chunks/s", factor: 1e3 };
export const KEYS: Unit = { name: "million keys/s", factor: 1e-3 };

/** Rows with the same kind of work. */
export interface Comparison {
  readonly title: string;
  /** The heads of the columns before the numbers. */
  readonly heads: readonly string[];
  readonly unit: Unit;
  readonly rows: readonly Row[];
}

/** The results of one benchmark. */
export interface Report {
  readonly comparisons: readonly Comparison[];
  /** Tables of other things than speed. */
  readonly tables?: readonly Table[];
  /** Conditions that a reader of the tables must know. */
  readonly note: string;
}

/** A comparison as a table: a column per contestant, then a column per goal. */
export function tableOf({ title, heads, unit, rows }: Comparison): Table {
  const names = unique(rows.flatMap(({ timings }) => timings.map(nameOf)));
  const goals = unique(rows.flatMap(({ goals }) => goals.map(headOf)));
  return {
    title: `${title}, in ${unit.name}`,
    labels: heads.length,
    head: [...heads, ...names, ...goals],
    rows: rows.map((row) => [
      ...row.labels,
      ...names.map((name) => {
        const timing = row.timings.find((timing) => timing.name === name);
        return timing ? numberText(unit.factor * speed(timing)) : "";
      }),
      ...goals.map((head) => {
        const goal = row.goals.find((goal) => headOf(goal) === head);
        return goal ? verdict(goal, row.timings) : "";
      }),
    ]),
  };
}

/** How many goals are met, and of how many. */
export function score(comparisons: readonly Comparison[]): string {
  const verdicts = comparisons.flatMap(({ rows }) =>
    rows.flatMap(({ goals, timings }) =>
      goals.map((goal) => verdict(goal, timings))
    )
  );
  const met = verdicts.filter((text) => text.endsWith(" met)"));
  const all = verdicts.filter((text) => text !== "");
  return all.length === 0
    ? ""
    : `${met.length} of ${all.length} targets are met.`;
}

/** The text of a number of bytes, such as `64 KiB`. */
export function sizeText(size: number): string {
  const units = ["B", "KiB", "MiB", "GiB"];
  let unit = 0;
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024;
    unit++;
  }
  return `${Number(size.toFixed(2))} ${units[unit]}`;
}

/** The text of a speed: with two places after the point if it is small. */
export function numberText(value: number): string {
  return value.toFixed(value < 100 ? 2 : 0);
}

/** Such as `1.02 (≥ 1 met)`; empty if a contestant is missing, since it cannot run here. */
function verdict(
  { of, against, least }: Goal,
  timings: readonly Timing[],
): string {
  const one = timings.find(({ name }) => name === of);
  const others = timings.filter(({ name }) => against.includes(name));
  if (one === undefined || others.length === 0) return "";
  const fastest = others.reduce((a, b) => speed(b) > speed(a) ? b : a);
  const found = ratio(one, fastest);
  return `${found.toFixed(2)} (≥ ${least} ${
    found >= least ? "met" : "missed"
  })`;
}

function headOf({ of, against }: Goal): string {
  return `${of} / ${against.length === 1 ? against[0] : "fastest engine"}`;
}

function nameOf({ name }: Timing): string {
  return name;
}

function unique(texts: readonly string[]): string[] {
  return Array.from(new Set(texts));
}
