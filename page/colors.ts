/** The most values that the range of a picture is made from. */
const MOST_SAMPLES = 20_000;
/** The share of values at each end that a range leaves out. */
const TAIL = 0.01;

/** Palettes by name: colors at equal distances, from low values to high ones. */
export const PALETTES: Readonly<Record<string, readonly string[]>> = {
  Gray: ["#000000", "#ffffff"],
  Dusk: ["#0c1038", "#43307f", "#a8417f", "#ee8a5c", "#fbf3c2"],
  Terrain: ["#1f4a7a", "#4f9a8d", "#a3b86c", "#c99b64", "#f4efe6"],
};

/** The values of the darkest and of the lightest color. */
export interface Range {
  readonly low: number;
  readonly high: number;
}

/**
 * The range of values that a picture shows, without the rarest ones at both ends.
 *
 * @param fill The value of elements that are not stored.
 * @returns `undefined` without numbers.
 */
export function rangeOf(
  values: ArrayLike<number>,
  fill: number | undefined,
): Range | undefined {
  const step = Math.max(1, Math.floor(values.length / MOST_SAMPLES));
  const samples: number[] = [];
  for (let i = 0; i < values.length; i += step) {
    const value = values[i]!;
    if (Number.isFinite(value) && value !== fill) samples.push(value);
  }
  if (samples.length === 0) {
    return fill !== undefined && Number.isFinite(fill)
      ? { low: fill, high: fill }
      : undefined;
  }
  const sorted = Float64Array.from(samples).sort();
  const skipped = Math.floor(sorted.length * TAIL);
  return { low: sorted[skipped]!, high: sorted[sorted.length - 1 - skipped]! };
}

/**
 * The least and the greatest value.
 *
 * @param fill The value of elements that are not stored, which counts if there is no other.
 * @returns `undefined` without numbers.
 */
export function extentOf(
  values: ArrayLike<number>,
  fill: number,
): Range | undefined {
  let [low, high] = [Infinity, -Infinity];
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (!Number.isFinite(value) || value === fill) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (low <= high) return { low, high };
  return Number.isFinite(fill) ? { low: fill, high: fill } : undefined;
}

/**
 * The colors of values: red, green, blue and alpha of each. Numbers that are not finite,
 * and elements that are not stored, are transparent.
 */
export function paint(
  values: ArrayLike<number>,
  { low, high }: Range,
  palette: readonly string[],
  fill: number | undefined,
): Uint8ClampedArray<ArrayBuffer> {
  const table = colorTable(palette);
  const pixels = new Uint8ClampedArray(4 * values.length);
  const scale = high > low ? 255 / (high - low) : 0;
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (Number.isNaN(value) || value === fill && high > low) continue;
    const place = scale === 0
      ? 127
      : Math.max(0, Math.min(255, Math.round((value - low) * scale)));
    pixels.set(table.subarray(4 * place, 4 * place + 4), 4 * i);
  }
  return pixels;
}

/**
 * The colors of samples that are red, green, blue and, if there are four, alpha.
 *
 * @param samples All samples of a pixel, then those of the next one.
 * @param count The number of samples of a pixel.
 * @param most The value of full brightness.
 */
export function paintSamples(
  samples: ArrayLike<number>,
  count: number,
  most: number,
): Uint8ClampedArray<ArrayBuffer> {
  const pixels = new Uint8ClampedArray(4 * samples.length / count);
  const scale = 255 / most;
  for (let i = 0, from = 0; i < pixels.length; i += 4, from += count) {
    pixels[i] = samples[from]! * scale;
    pixels[i + 1] = samples[from + 1]! * scale;
    pixels[i + 2] = samples[from + 2]! * scale;
    pixels[i + 3] = count === 4 ? samples[from + 3]! * scale : 255;
  }
  return pixels;
}

/** A channel, and how it is drawn. */
interface PaintedChannel {
  readonly index: number;
  /** The color of the brightest pixels, such as `#00ff00`. */
  readonly color: string;
  /** The values of the darkest and of the brightest pixel. By default, the range of the values. */
  readonly window?: readonly [low: number, high: number] | undefined;
}

/**
 * The sums of the colors of channels.
 *
 * @param samples All samples of a pixel, then those of the next one.
 * @param count The number of samples of a pixel.
 */
export function paintChannels(
  samples: ArrayLike<number>,
  count: number,
  channels: readonly PaintedChannel[],
): Uint8ClampedArray<ArrayBuffer> {
  const pixels = new Uint8ClampedArray(4 * samples.length / count);
  for (let i = 3; i < pixels.length; i += 4) pixels[i] = 255;
  for (const { index, color, window } of channels) {
    const [low, high] = window ?? windowOf(samples, count, index);
    const [red, green, blue] = partsOf(color) as [number, number, number];
    const scale = high > low ? 1 / (high - low) : 0;
    for (let i = 0, from = index; i < pixels.length; i += 4, from += count) {
      const share = Math.min(1, (samples[from]! - low) * scale);
      if (!(share > 0)) continue; // Also for NaN.
      pixels[i]! += share * red;
      pixels[i + 1]! += share * green;
      pixels[i + 2]! += share * blue;
    }
  }
  return pixels;
}

/** The range of the values of a channel. */
function windowOf(
  samples: ArrayLike<number>,
  count: number,
  index: number,
): readonly [number, number] {
  const values = Float64Array.from(
    { length: samples.length / count },
    (_, i) => samples[i * count + index]!,
  );
  const { low, high } = rangeOf(values, undefined) ?? { low: 0, high: 0 };
  return [low, high];
}

/** The red, green and blue of a color such as `#00ff00`. */
function partsOf(color: string): number[] {
  return [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
}

/** 256 colors of a palette, each as red, green, blue and alpha. */
function colorTable(palette: readonly string[]): Uint8ClampedArray {
  const stops = palette.map(partsOf);
  const table = new Uint8ClampedArray(4 * 256);
  for (let i = 0; i < 256; i++) {
    const place = i / 255 * (stops.length - 1);
    const stop = Math.min(Math.floor(place), stops.length - 2);
    const share = place - stop;
    for (let channel = 0; channel < 3; channel++) {
      const from = stops[stop]![channel]!;
      const to = stops[stop + 1]![channel]!;
      table[4 * i + channel] = from + (to - from) * share;
    }
    table[4 * i + 3] = 255;
  }
  return table;
}
