import { type Plane, upsampler } from "./samples.ts";
import {
  decodeScan,
  ProgressiveDecoder,
  putBlock,
  readScan,
  type Scan,
  sequentialDecoder,
} from "./scans.ts";
import {
  BitReader,
  type Component,
  type Frame,
  isFrameMarker,
  numberAt,
  readFrame,
  readJpegTables,
  readTables,
  segments,
  type Tables,
} from "./segments.ts";

/** Options of `decodeJpeg`. */
interface JpegOptions {
  /** Tables that the picture lacks, as a JPEG file without a picture. */
  readonly tables?: Uint8Array | undefined;
  /** The colors that are stored; by default found as libjpeg does. */
  readonly storedColors?: Colors | undefined;
  /** The colors to decode to; by default `gray`, `rgb`, `cmyk` or what is stored. */
  readonly colors?: Colors | undefined;
  /** Whether a baseline picture whose data ends too early is refused, instead of filled up. */
  readonly isStrict?: boolean;
  /**
   * Called before memory is taken for the picture; may throw.
   *
   * @param shape The height, the width, and the number of samples of a pixel.
   */
  readonly assertShape?: (shape: readonly [number, number, number]) => void;
}

const SOS = 0xda;
const DRI = 0xdd;
const APP0 = 0xe0;
const APP14 = 0xee;

/**
 * Decodes a JPEG picture of 8 bits per sample, baseline or progressive, to the samples
 * that libjpeg-turbo decodes by default, bit for bit.
 *
 * Source: ITU-T T.81, https://www.w3.org/Graphics/JPEG/itu-t81.pdf
 *
 * @returns The samples of all pixels, row by row.
 * @throws {SyntaxError} If the picture is damaged, or of another kind.
 */
export function decodeJpeg(
  bytes: Uint8Array,
  options: JpegOptions = {},
): Uint8Array<ArrayBuffer> {
  const tables = options.tables
    ? readJpegTables(options.tables)
    : { quantization: [], dc: [], ac: [] };
  const headers: Headers = { isJfif: false, adobe: undefined };
  let interval = 0;
  let picture:
    | { frame: Frame; decoder: FrameDecoder; colors: Conversion }
    | undefined;
  const all = segments(bytes);
  for (let next = all.next(); !next.done;) {
    const { marker, segment, end } = next.value;
    let resume = end;
    readTables(marker, segment, tables);
    if (marker === DRI) interval = numberAt(segment, 0);
    if (marker === APP0) headers.isJfif ||= startsWith(segment, "JFIF\0");
    if (marker === APP14 && startsWith(segment, "Adobe")) {
      headers.adobe = segment[11];
    }
    if (isFrameMarker(marker)) {
      if (picture) throw new SyntaxError("Expected one frame, found two");
      const frame = readFrame(marker, segment);
      const colors = conversionOf(
        frame,
        headers,
        options.storedColors,
        options.colors,
      );
      options.assertShape?.([frame.height, frame.width, colors.count]);
      picture = {
        frame,
        colors,
        decoder: new FrameDecoder(frame, options.isStrict),
      };
    }
    if (marker === SOS) {
      if (!picture) throw new SyntaxError("Expected a frame before its scans");
      resume = picture.decoder.decode(bytes, segment, end, tables, interval);
    }
    next = all.next(resume);
  }
  if (!picture) throw new SyntaxError("Expected a picture, found none");
  const { frame, decoder, colors } = picture;
  return pixelsOf(frame, decoder, colors);
}

function startsWith(bytes: Uint8Array, text: string): boolean {
  return bytes.length >= text.length &&
    Array.from(text).every((each, i) => bytes[i] === each.charCodeAt(0));
}

/** Bounds the time that a small file takes. Encoders write about 10 scans. */
const MOST_SCANS = 100;

/**
 * The coefficients that must be whole. libjpeg estimates these if they are missing,
 * and takes later ones as 0.
 */
const NEEDED_COEFFICIENTS = 10;

/** Decodes the scans of a frame. */
class FrameDecoder {
  readonly #frame: Frame;
  readonly #planes: readonly Plane[];
  /** The coefficients of the components of a progressive frame. */
  readonly #coefficients: readonly Int16Array[];
  /** For each component, the lowest bit of each coefficient so far; -1 for none. */
  readonly #lowBits: readonly Int8Array[];
  /** The factors of each component, as they are at its first scan. */
  readonly #factors: Int32Array[] = [];
  readonly #fills: boolean;
  #scans = 0;

  /** @param isStrict Whether a baseline scan that ends too early is refused. */
  constructor(frame: Frame, isStrict = false) {
    this.#frame = frame;
    this.#fills = !isStrict && !frame.isProgressive;
    this.#planes = frame.components.map(emptyPlane);
    this.#coefficients = frame.isProgressive
      ? this.#planes.map(({ samples }) => new Int16Array(samples.length))
      : [];
    this.#lowBits = frame.components.map(() => new Int8Array(64).fill(-1));
  }

  /**
   * Decodes a scan.
   *
   * @param segment The header of the scan.
   * @param start The place of its data.
   * @param interval The number of units between restart markers; 0 for none.
   * @returns A place after which the next marker is.
   */
  decode(
    bytes: Uint8Array,
    segment: Uint8Array,
    start: number,
    tables: Tables,
    interval: number,
  ): number {
    const frame = this.#frame;
    const scan = readScan(segment, frame, tables);
    if (++this.#scans > MOST_SCANS) {
      throw new SyntaxError(`Expected ${MOST_SCANS} scans at most, found more`);
    }
    for (const { place } of scan.components) this.#begin(place, scan, tables);
    const decoder = frame.isProgressive
      ? new ProgressiveDecoder(this.#coefficients, scan)
      : sequentialDecoder(this.#planes, this.#factors);
    const reader = new BitReader(bytes, start, this.#fills);
    decodeScan(reader, frame, scan, interval, decoder);
    return reader.offset;
  }

  #begin(place: number, { first, last, lowBit }: Scan, tables: Tables): void {
    const { id, quantization } = this.#frame.components[place]!;
    const lowBits = this.#lowBits[place]!;
    if (!this.#frame.isProgressive && lowBits[0] === 0) {
      throw new SyntaxError(`The component ${id} has two scans`);
    }
    lowBits.fill(lowBit, first, last + 1);
    const factors = this.#factors[place] ?? tables.quantization[quantization];
    if (factors === undefined) {
      throw new SyntaxError(
        `The component ${id} needs the quantization table ${quantization}, which is missing: expected it in the picture or in tables`,
      );
    }
    this.#factors[place] = factors;
  }

  /** The samples of all components. */
  planes(): readonly Plane[] {
    if (!this.#isWhole()) {
      throw new SyntaxError("The picture ends before its last scan");
    }
    for (const [place, coefficients] of this.#coefficients.entries()) {
      const component = this.#frame.components[place]!;
      const factors = this.#factors[place]!;
      const count = component.blockStride * component.blockRows;
      for (let block = 0; block < count; block++) {
        const from = { coefficients, start: 64 * block, factors };
        putBlock(from, this.#planes[place]!, component, block);
      }
    }
    return this.#planes;
  }

  #isWhole(): boolean {
    return this.#lowBits.every((bits) =>
      bits.subarray(0, NEEDED_COEFFICIENTS).every((bit) => bit === 0)
    );
  }
}

/** Makes the plane of a component, with room for whole blocks. */
function emptyPlane({ blockStride, blockRows }: Component): Plane {
  const stride = 8 * blockStride;
  return {
    samples: new Uint8ClampedArray(8 * blockRows * stride),
    stride,
  };
}

function pixelsOf(
  { width, height, components }: Frame,
  decoder: FrameDecoder,
  { convert, count }: Conversion,
): Uint8Array<ArrayBuffer> {
  const planes = decoder.planes();
  const mostX = Math.max(...components.map(({ factorX }) => factorX));
  const mostY = Math.max(...components.map(({ factorY }) => factorY));
  const rows = components.map((component, i) => {
    const ratioX = mostX / component.factorX;
    const fill = upsampler(
      planes[i]!,
      component,
      ratioX,
      mostY / component.factorY,
    );
    return { fill, line: new Uint8Array(component.width * ratioX) };
  });
  const lines = rows.map(({ line }) => line);
  const pixels = new Uint8Array(width * height * count);
  for (let y = 0; y < height; y++) {
    for (const { fill, line } of rows) fill(y, line);
    convert(lines, width, pixels, y * width * count);
  }
  return pixels;
}

/** The colors that a picture is stored in, or decoded to. */
export type Colors = "gray" | "rgb" | "ycbcr" | "cmyk" | "ycck" | "unknown";

/** The number of components of colors; unknown colors have any number. */
const COLOR_COUNTS: Readonly<Record<Colors, number | undefined>> = {
  gray: 1,
  rgb: 3,
  ycbcr: 3,
  cmyk: 4,
  ycck: 4,
  unknown: undefined,
};

/** The headers before a frame that decide its colors. */
interface Headers {
  isJfif: boolean;
  /** The transform in Adobe's segment. */
  adobe: number | undefined;
}

/** A conversion of colors. */
interface Conversion {
  readonly convert: ColorConverter;
  /** The number of samples of a converted pixel. */
  readonly count: number;
}

/**
 * Finds the conversion of a picture.
 *
 * @param from The colors that are stored; by default found by the headers.
 * @param wanted The colors to convert to; by default `gray`, `rgb`, `cmyk` or the
 * stored ones.
 * @throws {SyntaxError} If libjpeg does not convert these colors.
 */
function conversionOf(
  frame: Frame,
  headers: Headers,
  from: Colors = colorsOf(frame, headers),
  wanted?: Colors,
): Conversion {
  const components = frame.components.length;
  if (components !== (COLOR_COUNTS[from] ?? components)) {
    throw new SyntaxError(
      `Expected ${
        COLOR_COUNTS[from]
      } components for the colors ${from}, found ${components}`,
    );
  }
  const to = wanted ??
    (from === "ycbcr" ? "rgb" : from === "ycck" ? "cmyk" : from);
  const convert = colorConverter(from, to);
  if (convert) return { convert, count: COLOR_COUNTS[to] ?? components };
  throw new SyntaxError(`The colors ${from} are not converted to ${to}`);
}

/** The colors that libjpeg takes a picture to have. */
function colorsOf({ components }: Frame, { isJfif, adobe }: Headers): Colors {
  switch (components.length) {
    case 1:
      return "gray";
    case 3: {
      if (isJfif) return "ycbcr";
      if (adobe !== undefined) return adobe === 0 ? "rgb" : "ycbcr";
      const names = components.map(({ id }) => String.fromCharCode(id));
      return names.join("") === "RGB" ? "rgb" : "ycbcr";
    }
    case 4:
      return adobe === undefined || adobe === 0 ? "cmyk" : "ycck";
    default:
      return "unknown";
  }
}

/** Writes the colors of a row of `width` pixels from the rows of its components. */
type ColorConverter = (
  lines: readonly Uint8Array[],
  width: number,
  pixels: Uint8Array | Uint8ClampedArray,
  start: number,
) => void;

/**
 * Returns the conversion between colors, with the rounding of libjpeg.
 *
 * @returns `undefined` if libjpeg has none.
 * Source: ITU-T T.871, section 7
 */
export function colorConverter(
  from: Colors,
  to: Colors,
): ColorConverter | undefined {
  if (from === to) return interleave;
  switch (`${from} to ${to}`) {
    case "ycbcr to gray":
      return (lines, ...rest) => interleave([lines[0]!], ...rest);
    case "gray to rgb":
      return ([line], ...rest) => interleave([line!, line!, line!], ...rest);
    case "ycbcr to rgb":
      return ycbcrToRgb;
    case "ycck to cmyk":
      return ycckToCmyk;
    default:
      return undefined;
  }
}

function interleave(
  lines: readonly Uint8Array[],
  width: number,
  pixels: Uint8Array | Uint8ClampedArray,
  start: number,
): void {
  if (lines.length === 1) {
    pixels.set(lines[0]!.subarray(0, width), start);
    return;
  }
  for (const [i, line] of lines.entries()) {
    let at = start + i;
    for (let x = 0; x < width; x++, at += lines.length) pixels[at] = line[x]!;
  }
}

/** Factors with 16 bits after the point. */
const CR_TO_RED = 91881; // 1.402
const CB_TO_BLUE = 116130; // 1.772
const CR_TO_GREEN = 46802; // 0.71414
const CB_TO_GREEN = 22554; // 0.34414
const HALF = 1 << 15;

function ycbcrToRgb(
  [lumas, blues, reds]: readonly Uint8Array[],
  width: number,
  pixels: Uint8Array | Uint8ClampedArray,
  start: number,
): void {
  for (let x = 0, at = start; x < width; x++, at += 3) {
    const luma = lumas![x]!;
    const blue = blues![x]! - 128;
    const red = reds![x]! - 128;
    pixels[at] = clamp(luma + (red * CR_TO_RED + HALF >> 16));
    pixels[at + 1] = clamp(
      luma + (HALF - blue * CB_TO_GREEN - red * CR_TO_GREEN >> 16),
    );
    pixels[at + 2] = clamp(luma + (blue * CB_TO_BLUE + HALF >> 16));
  }
}

function ycckToCmyk(
  [lumas, blues, reds, blacks]: readonly Uint8Array[],
  width: number,
  pixels: Uint8Array | Uint8ClampedArray,
  start: number,
): void {
  const rgb = new Uint8Array(3 * width);
  ycbcrToRgb([lumas!, blues!, reds!], width, rgb, 0);
  for (let x = 0, at = start; x < width; x++, at += 4) {
    for (let i = 0; i < 3; i++) pixels[at + i] = 255 - rgb[3 * x + i]!;
    pixels[at + 3] = blacks![x]!;
  }
}

function clamp(value: number): number {
  return value < 0 ? 0 : value > 255 ? 255 : value;
}
