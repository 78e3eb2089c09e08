/** The tables of benchmarks, and the goals in them. */
import { median, ratio, type Timing } from "./measure.ts";

/** A unit in which a table gives measurements. */
export interface Unit {
  readonly name: string;
  /** How many of this unit one amount per millisecond is; for a unit of time, one millisecond. */
  readonly factor: number;
  /** Whether less is better. */
  readonly isTime?: true;
}

export const GIGABYTES: Unit = { name: "GB/s", factor: 1e-6 };
export const CHUNKS: Unit = { name: "chunks/s", factor: 1e3 };
export const KEYS: Unit = { name: "million keys/s", factor: 1e-3 };
export const MILLISECONDS: Unit = { name: "ms", factor: 1, isTime: true };

/** How good one contestant must be beside others. */
export interface Goal {
  readonly of: string;
  /** The other contestants. The fastest of them counts. */
  readonly against: readonly string[];
  /** The least ratio of their speeds or, in a unit of time, the greatest ratio of their times. */
  readonly bound: number;
}

/** The measurements of one kind of work. */
export interface Row {
  /** What is done, in as many words as the comparison has heads. */
  readonly labels: readonly string[];
  /** The size of the data in bytes, for a chart that shows speed over size. */
  readonly size?: number;
  readonly timings: readonly Timing[];
  readonly goals?: readonly Goal[];
}

/** Rows with the same kind of work. */
export interface Comparison {
  readonly title: string;
  /** The heads of the columns before the numbers. */
  readonly heads: readonly string[];
  readonly unit: Unit;
  readonly rows: readonly Row[];
}

/** A table of texts. */
export interface Table {
  readonly title: string;
  /** How many columns at the left are words, which are aligned left. */
  readonly labels: number;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** The results of one benchmark. */
export interface Report {
  readonly comparisons?: readonly Comparison[];
  /** Tables of other things than speed. */
  readonly tables?: readonly Table[];
  /** Conditions that a reader of the tables must know. */
  readonly note: string;
}

/** The measurement of a contestant in the unit of its table. */
export function valueOf({ factor, isTime }: Unit, timing: Timing): number {
  const time = median(timing.times);
  return factor * (isTime ? time : timing.amount / time);
}

/** All tables of a report. */
export function tablesOf({ comparisons = [], tables = [] }: Report): Table[] {
  return [
    ...comparisons.map((comparison) =>
      comparison.rows.length === 1
        ? tableOfRow(comparison)
        : tableOf(comparison)
    ),
    ...tables,
  ];
}

/** A column for each contestant, then a column for each goal. */
function tableOf({ title, heads, unit, rows }: Comparison): Table {
  const names = unique(rows.flatMap(({ timings }) => timings.map(nameOf)));
  const goals = unique(rows.flatMap(({ goals = [] }) => goals.map(headOf)));
  return {
    title: `${title}, in ${unit.name}`,
    labels: heads.length,
    head: [...heads, ...names, ...goals],
    rows: rows.map((row) => [
      ...row.labels,
      ...names.map((name) => {
        const timing = row.timings.find((timing) => timing.name === name);
        return timing ? numberText(valueOf(unit, timing)) : "";
      }),
      ...goals.map((head) => {
        const goal = row.goals?.find((goal) => headOf(goal) === head);
        return goal ? verdict(goal, unit, row.timings) : "";
      }),
    ]),
  };
}

/** A line for each contestant, with its ratios to those that goals name. */
function tableOfRow({ title, unit, rows: [row] }: Comparison): Table {
  const { labels, timings, goals = [] } = row!;
  const others = unique(goals.flatMap(({ against }) => against))
    .flatMap((name) => timings.filter((timing) => timing.name === name));
  return {
    title: [title, ...labels].join(": "),
    labels: 1,
    head: ["", unit.name, ...others.map(({ name }) => `of ${name}`)],
    rows: timings.map((timing) => [
      timing.name,
      numberText(valueOf(unit, timing)),
      ...others.map((other) => {
        if (other === timing) return "";
        const goal = goals.find(({ of, against }) =>
          of === timing.name && against.includes(other.name)
        );
        return goal
          ? verdict({ ...goal, against: [other.name] }, unit, timings)
          : ratioOf(unit, timing, other).toFixed(2);
      }),
    ]),
  };
}

/** How many goals are met, and of how many. */
export function score(report: Report): string {
  const cells = tablesOf(report).flatMap(({ rows }) => rows.flat());
  const met = cells.filter((text) => text.endsWith(" met)")).length;
  const missed = cells.filter((text) => text.endsWith(" missed)")).length;
  return met + missed === 0 ? "" : `${met} of ${met + missed} targets are met.`;
}

/** Such as `1.02 (≥ 1 met)`; empty if a contestant is missing, since it cannot run here. */
function verdict(
  { of, against, bound }: Goal,
  unit: Unit,
  timings: readonly Timing[],
): string {
  const one = timings.find(({ name }) => name === of);
  const others = timings.filter(({ name }) => against.includes(name));
  if (one === undefined || others.length === 0) return "";
  const fastest = others.reduce((a, b) => ratio(b, a) > 1 ? b : a);
  const found = ratioOf(unit, one, fastest);
  return `${found.toFixed(2)} ${boundText(found, bound, unit.isTime === true)}`;
}

/** Such as `(≤ 64 met)`. */
export function boundText(
  found: number,
  bound: number,
  isMost: boolean,
): string {
  const isMet = isMost ? found <= bound : found >= bound;
  return `(${isMost ? "≤" : "≥"} ${bound} ${isMet ? "met" : "missed"})`;
}

function ratioOf({ isTime }: Unit, one: Timing, other: Timing): number {
  return isTime ? ratio(other, one) : ratio(one, other);
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

/** The text of a measurement: with two places after the point if it is small. */
export function numberText(value: number): string {
  return value.toFixed(value < 100 ? 2 : 0);
}

/** A table for the terminal. */
export function textOf({ title, labels, head, rows }: Table): string {
  const widths = head.map((_, column) =>
    Math.max(...[head, ...rows].map((cells) => cells[column]!.length))
  );
  const line = (cells: readonly string[]) =>
    cells.map((cell, column) =>
      column < labels
        ? cell.padEnd(widths[column]!)
        : cell.padStart(widths[column]!)
    ).join("  ");
  const lines = [head, ...rows].map((cells) => `  ${line(cells)}`.trimEnd());
  return [title, ...lines, ""].join("\n");
}

/** A table in Markdown, with its title as a heading of the second level. */
export function markdownOf({ title, labels, head, rows }: Table): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const rule = head.map((_, column) => column < labels ? "---" : "---:");
  return [`## ${title}`, "", ...[head, rule, ...rows].map(line), ""].join(
    "\n",
  );
}
