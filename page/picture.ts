/// <reference lib="dom" />
import * as zarr from "zarrita";
import type { DescribedArray, PictureAxes } from "../src/cli/page/drawings.ts";
import type { ImageChannel } from "../src/hierarchy/mod.ts";
import {
  extentOf,
  paint,
  paintChannels,
  paintSamples,
  PALETTES,
  rangeOf,
} from "./colors.ts";
import {
  addChannels,
  addPalettes,
  addSlider,
  type Slider,
} from "./controls.ts";
import { append, numberText } from "./elements.ts";
import { drawLine } from "./line.ts";
import {
  type Gap,
  openReadable,
  type ReadableArray,
} from "./readable_array.ts";
import { numbersOf, transpose, windowOf } from "./slices.ts";

/** Shows pictures of an array, with controls for its dimensions. */
export async function showPicture(
  view: HTMLElement,
  described: DescribedArray,
): Promise<void> {
  const status = append(view, "p", "Reading …", "muted");
  status.role = "status";
  try {
    const readable = await openReadable(described.url);
    const { array } = readable;
    if (array.shape.includes(0)) {
      status.textContent = "The array has no elements.";
    } else if (array.shape.length === 0) {
      status.textContent = `The only element is ${await zarr.get(array, [])}.`;
    } else await new Picture(view, status, readable, described).draw();
  } catch (error) {
    showError(status, error);
  }
}

/** A picture of a part of an array, which its controls choose. */
class Picture {
  readonly #status: HTMLElement;
  readonly #readable: ReadableArray;
  readonly #array: ReadableArray["array"];
  readonly #described: DescribedArray;
  readonly #canvas: HTMLCanvasElement;
  readonly #axes: PictureAxes;
  /** An element along each dimension: that of the picture, or one of its first chunk. */
  readonly #starts: number[];
  readonly #sliders = new Map<number, Slider>();
  #palette = "Dusk";
  #reading = new AbortController();
  /** The reason for which chunks of the picture are missing. */
  #gap = "";
  /** The channels that are shown, by their places. */
  readonly #shownChannels = new Set<number>();
  /** The numbers of the picture, row by row. */
  #values: ArrayLike<number> = [];

  constructor(
    view: HTMLElement,
    status: HTMLElement,
    readable: ReadableArray,
    described: DescribedArray,
  ) {
    const { shape, axes, chunk, chunkShape, start } = described;
    this.#status = status;
    this.#readable = readable;
    this.#array = readable.array;
    this.#described = described;
    this.#axes = axes;
    this.#starts = start?.slice() ??
      shape.map((_, i) => (chunk?.[i] ?? 0) * chunkShape[i]!);
    for (const { index, isActive } of this.#channels) {
      if (isActive) this.#shownChannels.add(index);
    }
    this.#canvas = append(view, "canvas");
    this.#canvas.role = "img";
    view.prepend(this.#canvas);
    const first = [...this.#starts];
    this.#goTo(startsIn(location.href, shape) ?? first);
    this.#addControls(append(view, "div", "", "controls"));
    addEventListener("popstate", () => {
      this.#goTo(startsIn(location.href, shape) ?? first);
      this.draw();
    });
    this.#canvas.onpointermove = (event) => this.#describeElement(event);
    this.#canvas.onpointerleave = () => this.#describe();
  }

  /** The channels that the picture mixes; none for pictures of another kind. */
  get #channels(): readonly ImageChannel[] {
    return this.#described.channels ?? [];
  }

  /** Reads the elements that the controls choose, and draws them. */
  async draw(): Promise<void> {
    this.#reading.abort();
    const { signal } = this.#reading = new AbortController();
    this.#status.classList.remove("alert");
    try {
      const { data, shape, gaps } = await this.#readable.read(
        this.#selection(),
        signal,
      );
      if (signal.aborted) return;
      this.#gap = gaps.length === 0 ? "" : gapText(gaps);
      const numbers = numbersOf(data);
      if (numbers === undefined) {
        this.#status.textContent =
          `Elements of type ${this.#array.dtype} have no picture.`;
        return;
      }
      this.#paint(numbers, shape);
      this.#describe();
    } catch (error) {
      if (!signal.aborted) showError(this.#status, error);
    }
  }

  #addControls(controls: HTMLElement): void {
    const { shape } = this.#described;
    shape.forEach((length, i) => {
      const { start, stop, step } = this.#window(i);
      const isWhole = this.#isShown(i) ? stop - start === length : length === 1;
      if (isWhole || i === this.#axes.colors) return;
      const last = windowOf(length, step, length - 1).start;
      const [range, value] = this.#isShown(i)
        ? [{ step, last }, start]
        : [{ step: 1, last: length - 1 }, this.#starts[i]!];
      const show = (value: number) => {
        if (this.#starts[i] === value) return;
        this.#starts[i] = value;
        this.draw();
      };
      const slider = addSlider(
        controls,
        this.#name(i),
        range,
        value,
        show,
        (value) => {
          show(value);
          rememberStarts(this.#starts);
        },
      );
      this.#sliders.set(i, slider);
    });
    if (this.#channels.length > 0) {
      addChannels(controls, this.#channels, this.#shownChannels, () => {
        this.draw();
      });
    }
    if (this.#axes.colors !== undefined || shape.length === 1) return;
    addPalettes(controls, this.#palette, (name) => {
      this.#palette = name;
      this.draw();
    });
  }

  /** Shows the elements at a place. */
  #goTo(starts: readonly number[]): void {
    starts.forEach((start, i) => {
      this.#starts[i] = start;
      this.#sliders.get(i)?.show(start);
    });
  }

  #name(i: number): string {
    return this.#described.names[i] ?? `dimension ${i}`;
  }

  /** Whether a dimension is one of the two of the picture. */
  #isShown(i: number): boolean {
    return i === this.#axes.rows || i === this.#axes.columns;
  }

  /** The elements of a dimension that the picture shows. */
  #window(i: number): { start: number; stop: number; step: number } {
    const { shape, chunkShape, innerChunkShape } = this.#described;
    const chunk = (innerChunkShape ?? chunkShape)[i]!;
    return windowOf(shape[i]!, chunk, this.#starts[i]!);
  }

  #selection(): (number | zarr.Slice | null)[] {
    return this.#starts.map((start, i) => {
      if (i === this.#axes.colors) {
        const { length } = this.#channels;
        return length === 0 ? null : zarr.slice(length);
      }
      if (!this.#isShown(i)) return start;
      const window = this.#window(i);
      return zarr.slice(window.start, window.stop);
    });
  }

  /** @param shape The lengths of the dimensions that the picture shows, in their order. */
  #paint(numbers: ArrayLike<number>, shape: readonly number[]): void {
    const { rows, columns, colors } = this.#axes;
    const order = [rows, columns, colors].filter((i) => i !== undefined);
    const sorted = order.toSorted((a, b) => a - b);
    const places = order.map((i) => sorted.indexOf(i));
    const values = transpose(numbers, shape, places);
    this.#values = values;
    this.#canvas.classList.toggle("line", rows === undefined);
    if (rows === undefined) return drawLine(this.#canvas, values);
    const [height = 1, width = 1, samples] = places.map((i) => shape[i]!);
    const pixels = samples === undefined
      ? this.#paintNumbers(values)
      : this.#channels.length > 0
      ? paintChannels(
        values,
        samples,
        this.#channels.filter(({ index }) => this.#shownChannels.has(index)),
      )
      : paintSamples(values, samples, this.#brightest(values));
    Object.assign(this.#canvas, { width, height });
    const image = new ImageData(pixels, width, height);
    this.#canvas.getContext("2d")!.putImageData(image, 0, 0);
  }

  #paintNumbers(values: ArrayLike<number>): Uint8ClampedArray<ArrayBuffer> {
    const fill = Number(this.#array.fillValue ?? NaN);
    const range = rangeOf(values, fill) ?? { low: 0, high: 0 };
    return paint(values, range, PALETTES[this.#palette]!, fill);
  }

  /** The sample that is drawn with full brightness. */
  #brightest(values: ArrayLike<number>): number {
    if (this.#array.dtype === "uint8") return 255;
    return rangeOf(values, undefined)?.high || 1;
  }

  /** Tells which elements the picture shows, and their range. */
  #describe(): void {
    const places = this.#described.shape.flatMap((length, i) => {
      const { start, stop } = this.#window(i);
      const isWhole = !this.#isShown(i) || stop - start === length;
      return isWhole ? [] : [`${this.#name(i)} ${start} to ${stop - 1}`];
    });
    const range = extentOf(this.#values, Number(this.#array.fillValue ?? NaN));
    const values = range === undefined
      ? "no numbers"
      : `values from ${numberText(range.low)} to ${numberText(range.high)}`;
    const text = [...places, values].join(", ");
    this.#status.textContent = this.#gap === ""
      ? text
      : `${text}. ${this.#gap}`;
    this.#status.classList.toggle("alert", this.#gap !== "");
    this.#canvas.ariaLabel = `A picture with ${text}`;
  }

  /** Tells the value of the element under the pointer. */
  #describeElement({ offsetX, offsetY }: PointerEvent): void {
    const { rows, columns, colors } = this.#axes;
    if (rows === undefined || this.#values.length === 0) return;
    const { width, height, clientWidth, clientHeight } = this.#canvas;
    const column = Math.floor(offsetX / clientWidth * width);
    const row = Math.floor(offsetY / clientHeight * height);
    const isInside = column >= 0 && column < width && row >= 0 && row < height;
    if (!isInside) return;
    const samples = this.#values.length / (width * height);
    const first = (row * width + column) * samples;
    const values = Array.from(
      { length: samples },
      (_, i) => numberText(this.#values[first + i]!),
    );
    const place = this.#starts.flatMap((start, i) => {
      if (i === colors) return [];
      if (i === rows) return [this.#window(i).start + row];
      return [i === columns ? this.#window(i).start + column : start];
    });
    this.#status.textContent = `[${place.join(", ")}]  ${values.join(", ")}`;
  }
}

/** The name of the parameter of a URL that holds the place of a picture. */
const PLACE = "at";

/** The place that a URL names; `undefined` for none in the array. */
function startsIn(
  url: string,
  shape: readonly number[],
): number[] | undefined {
  const text = new URL(url).searchParams.get(PLACE) ?? "";
  if (!/^\d{1,15}(,\d{1,15})*$/.test(text)) return undefined;
  const starts = text.split(",").map(Number);
  const isInside = starts.length === shape.length &&
    starts.every((start, i) => start < shape[i]!);
  return isInside ? starts : undefined;
}

/** Puts the place of a picture into the URL of the page. */
function rememberStarts(starts: readonly number[]): void {
  const url = new URL(location.href);
  if (url.searchParams.get(PLACE) === starts.join()) return;
  url.searchParams.set(PLACE, starts.join());
  history.pushState(null, "", url);
}

/** Says which chunks are missing in a picture. */
function gapText(gaps: readonly Gap[]): string {
  const [{ coordinates, error }] = gaps as [Gap];
  const place = coordinates.join(", ");
  const count = gaps.length === 1
    ? `Chunk ${place} cannot be read`
    : `${gaps.length} chunks cannot be read, such as ${place}`;
  return `${count}: ${explain(error)}`;
}

function showError(status: HTMLElement, error: unknown): void {
  status.classList.add("alert");
  status.textContent = `No picture: ${explain(error)}`;
}

/** The messages of an error and of its causes. */
function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message, cause } = error;
  return cause === undefined ? message : `${message}: ${explain(cause)}`;
}
