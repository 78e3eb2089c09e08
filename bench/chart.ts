/** Draws speeds over sizes as SVG, both on logarithmic axes. */
import * as echarts from "echarts";
import { sizeText } from "./crc32c_table.ts";

/** One line of a chart. */
export interface Series {
  readonly name: string;
  /** Sizes in bytes, and GB/s. */
  readonly points: readonly (readonly [size: number, speed: number])[];
  /** Whether it is what the chart is about, not what it is compared with. */
  readonly isOurs: boolean;
}

/** Lines between one pair of axes. */
export interface Panel {
  readonly title: string;
  readonly series: readonly Series[];
}

const PANEL_WIDTH = 600;
const HEIGHT = 420;
const LEFT = 56;
/** Room for the names at the ends of the lines. */
const RIGHT = 180;
const COLOURS = [
  "#0b62d6",
  "#d9480f",
  "#2b8a3e",
  "#862e9c",
  "#868e96",
  "#0b7285",
];
const FONT = "Helvetica, Arial, sans-serif";

/** A picture of panels side by side, all with the same scale of speeds. */
export function drawChart(title: string, panels: readonly Panel[]): string {
  const chart = echarts.init(null, null, {
    renderer: "svg",
    ssr: true,
    width: PANEL_WIDTH * panels.length,
    height: HEIGHT,
  });
  const speeds = panels.flatMap(({ series }) =>
    series.flatMap(({ points }) => points.map(([, speed]) => speed))
  );
  chart.setOption({
    animation: false,
    backgroundColor: "#ffffff", // Where the page is dark, too.
    textStyle: { fontFamily: FONT },
    title: [
      { text: title, left: 12, top: 8, textStyle: { fontSize: 16 } },
      ...panels.map((panel, i) => ({
        text: panel.title,
        left: PANEL_WIDTH * i + LEFT,
        top: 40,
        textStyle: { fontSize: 13, fontWeight: "normal" as const },
      })),
    ],
    grid: panels.map((_, i) => ({
      left: PANEL_WIDTH * i + LEFT,
      width: PANEL_WIDTH - LEFT - RIGHT,
      top: 68,
      bottom: 40,
    })),
    xAxis: panels.map((panel, gridIndex) => ({
      ...axis(panel.series.flatMap(sizesOf), sizeText, 7),
      gridIndex,
    })),
    yAxis: panels.map((_, gridIndex) => ({
      ...axis(speeds, (speed) => `${Number(speed.toPrecision(3))}`, 12),
      gridIndex,
    })),
    series: panels.flatMap(({ series }, panel) =>
      series.map((line, i) => ({
        ...lineOf(line, COLOURS[i % COLOURS.length]!),
        xAxisIndex: panel,
        yAxisIndex: panel,
      }))
    ),
  });
  const svg = chart.renderToSVGString();
  chart.dispose();
  return svg;
}

/** An axis of binary logarithms, with at most `most` labels. */
function axis(
  values: readonly number[],
  text: (value: number) => string,
  most: number,
) {
  const logarithms = values.map(Math.log2);
  const min = Math.floor(Math.min(...logarithms));
  const max = Math.ceil(Math.max(...logarithms));
  const interval = [1, 2, 4, 8].find((step) => (max - min) / step < most)!;
  return {
    type: "value" as const,
    min,
    max,
    interval,
    axisLabel: {
      formatter: (logarithm: number) => text(2 ** logarithm),
      color: "#343a40",
      fontSize: 11,
    },
    axisLine: { show: true, onZero: false, lineStyle: { color: "#868e96" } },
    splitLine: { lineStyle: { color: "#e9ecef" } },
  };
}

function sizesOf({ points }: Series): number[] {
  return points.map(([size]) => size);
}

function lineOf({ name, points, isOurs }: Series, color: string) {
  return {
    name,
    type: "line" as const,
    color,
    data: points.map((point) => point.map(Math.log2)),
    symbol: "circle",
    symbolSize: isOurs ? 6 : 4,
    lineStyle: {
      width: isOurs ? 3 : 1.5,
      type: isOurs ? "solid" as const : "dashed" as const,
    },
    endLabel: { show: true, formatter: "{a}", color, fontSize: 12 },
    labelLayout: { moveOverlap: "shiftY" as const },
  };
}
