/** Draws comparisons as SVG: lines of speed over size, or bars. */
import * as echarts from "echarts";
import {
  type Comparison,
  numberText,
  type Row,
  sizeText,
  valueOf,
} from "./report.ts";

/** Rows that share one pair of axes. */
interface Panel {
  readonly title: string;
  readonly comparison: Comparison;
  readonly rows: readonly Row[];
  readonly names: readonly string[];
}

const COLUMNS = 3;
const WIDTH = 480;
const TOP = 72;
const BOTTOM = 34;
const LINES_HEIGHT = 360;
const BAR_HEIGHT = 13;
const FONT = "Helvetica, Arial, sans-serif";

/** The colours of contestants by name, then of all others. */
const COLOURS: Record<string, string> = {
  "auto": "#0b62d6",
  "wasm": "#862e9c",
  "native": "#2b8a3e",
  "before": "#868e96",
  "zarr-parts": "#0b62d6",
  "cp": "#d9480f",
};
const OTHER_COLOURS = ["#d9480f", "#0b7285", "#e8a200", "#5c3d2e", "#343a40"];

/** Draws a panel for each comparison and each kind of its rows. */
export function drawChart(comparisons: readonly Comparison[]): string {
  const panels = comparisons.flatMap(panelsOf);
  const columns = Math.min(COLUMNS, panels.length);
  const heights = panels.map(heightOf);
  const rowHeights = Array.from(
    { length: Math.ceil(panels.length / columns) },
    (_, row) => Math.max(...heights.slice(row * columns, (row + 1) * columns)),
  );
  const chart = echarts.init(null, null, {
    renderer: "svg",
    ssr: true,
    width: WIDTH * columns,
    height: sum(rowHeights),
  });
  const places = panels.map((_, i) => ({
    left: WIDTH * (i % columns),
    top: sum(rowHeights.slice(0, Math.floor(i / columns))),
  }));
  // Panels of lines share one scale of speeds.
  const speeds = panels.flatMap(({ rows, comparison }) =>
    rows.flatMap(({ timings }) =>
      timings.map((timing) => valueOf(comparison.unit, timing))
    )
  );
  chart.setOption({
    animation: false,
    backgroundColor: "#ffffff", // Also on a dark page.
    textStyle: { fontFamily: FONT },
    title: panels.map(({ title, comparison }, i) => ({
      text: title,
      subtext: comparison.unit.name,
      left: places[i]!.left + 12,
      top: places[i]!.top + 8,
      textStyle: { fontSize: 13, width: WIDTH - 30, overflow: "truncate" },
    })),
    grid: panels.map((panel, i) => {
      const isLines = hasSizes(panel);
      return {
        left: places[i]!.left + (isLines ? 52 : 190),
        width: WIDTH - (isLines ? 52 + 120 : 190 + 60),
        top: places[i]!.top + TOP,
        height: heights[i]! - TOP - BOTTOM,
      };
    }),
    xAxis: panels.map((panel, gridIndex) => ({
      gridIndex,
      ...hasSizes(panel)
        ? logarithmicAxis(panel.rows.map(({ size }) => size!), sizeText)
        : { type: "value" as const },
    })),
    yAxis: panels.map((panel, gridIndex) => ({
      gridIndex,
      ...hasSizes(panel)
        ? logarithmicAxis(speeds, (value) => `${Number(value.toPrecision(3))}`)
        : labelAxis(panel),
    })),
    series: panels.flatMap(seriesOf),
  });
  const svg = chart.renderToSVGString();
  chart.dispose();
  return svg;
}

/** Rows over size that begin with another label have a panel of their own. */
function panelsOf(comparison: Comparison): Panel[] {
  const { title, heads, rows } = comparison;
  const names = Array.from(
    new Set(rows.flatMap(({ timings }) => timings.map(({ name }) => name))),
  );
  const isDivided = heads.length > 1 && rows.every(({ size }) => size);
  if (!isDivided) return [{ title, comparison, rows, names }];
  const groups = Map.groupBy(rows, ({ labels }) => labels[0]!);
  return Array.from(groups, ([label, rows]) => ({
    title: `${title}, ${heads[0]!.toLowerCase()} of ${label}`,
    comparison,
    rows,
    names,
  }));
}

function hasSizes({ rows }: Panel): boolean {
  return rows.every(({ size }) => size !== undefined);
}

function heightOf(panel: Panel): number {
  if (hasSizes(panel)) return LINES_HEIGHT;
  const bars = sum(panel.rows.map(({ timings }) => timings.length + 1));
  return TOP + BOTTOM + BAR_HEIGHT * bars;
}

/** An axis of binary logarithms with few labels. */
function logarithmicAxis(
  values: readonly number[],
  formatter: (value: number) => string,
) {
  const logarithms = values.map(Math.log2);
  const min = Math.floor(Math.min(...logarithms));
  const max = Math.max(min + 1, Math.ceil(Math.max(...logarithms)));
  const interval = [1, 2, 4, 8].find((step) => (max - min) / step < 7)!;
  return {
    type: "value" as const,
    min,
    max,
    interval,
    axisLine: { show: true, onZero: false },
    axisLabel: { formatter: (logarithm: number) => formatter(2 ** logarithm) },
  };
}

function labelAxis({ rows }: Panel) {
  return {
    type: "category" as const,
    inverse: true,
    data: rows.map(({ labels }) => labels.join(", ")),
    axisLabel: { width: 176, overflow: "break" as const, fontSize: 10 },
  };
}

function seriesOf(panel: Panel, index: number) {
  const { rows, names, comparison } = panel;
  const value = (row: Row, name: string) => {
    const timing = row.timings.find((timing) => timing.name === name);
    return timing ? valueOf(comparison.unit, timing) : undefined;
  };
  let others = 0;
  return names.map((name) => {
    const color = COLOURS[name] ??
      OTHER_COLOURS[others++ % OTHER_COLOURS.length]!;
    const common = { name, color, xAxisIndex: index, yAxisIndex: index };
    if (hasSizes(panel)) {
      return {
        ...common,
        type: "line" as const,
        data: rows.flatMap((row) => {
          const y = value(row, name);
          return y === undefined ? [] : [[Math.log2(row.size!), Math.log2(y)]];
        }),
        symbolSize: 4,
        endLabel: { show: true, formatter: "{a}", color, fontSize: 11 },
        labelLayout: { moveOverlap: "shiftY" as const },
      };
    }
    return {
      ...common,
      type: "bar" as const,
      data: rows.map((row) => {
        const length = value(row, name);
        return length === undefined ? "-" : numberText(length);
      }),
      label: {
        show: true,
        position: "right" as const,
        formatter: "{c} {a}",
        fontSize: 9,
      },
    };
  });
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}
