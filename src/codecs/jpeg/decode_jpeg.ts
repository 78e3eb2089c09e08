import {
  COLOR_COUNTS,
  type ColorConverter,
  colorConverter,
  type Colors,
} from "./colors.ts";
import { type Frame, isFrameMarker, readFrame } from "./frame.ts";
import { FrameDecoder } from "./frame_decoder.ts";
import { upsampler } from "./samples.ts";
import {
  END_MARKER,
  findMarker,
  readHuffman,
  readQuantization,
  type Tables,
} from "./tables.ts";

/** Options of `decodeJpeg`. */
export interface JpegOptions {
  /** Tables that the picture lacks, as a JPEG file without a picture. */
  readonly tables?: Uint8Array | undefined;
  /** The colors that are stored; by default found as libjpeg does. */
  readonly storedColors?: Colors | undefined;
  /** The colors to decode to; by default `gray`, `rgb`, `cmyk` or what is stored. */
  readonly colors?: Colors | undefined;
  /**
   * Called before memory is taken for the picture; may throw.
   *
   * @param shape The height, the width, and the number of samples of a pixel.
   */
  readonly assertShape?: (shape: readonly [number, number, number]) => void;
}

const DHT = 0xc4;
const SOS = 0xda;
const DQT = 0xdb;
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
  const tables: Tables = { quantization: [], dc: [], ac: [] };
  if (options.tables) {
    for (const { marker, segment } of segments(options.tables)) {
      readTables(marker, segment, tables);
    }
  }
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
      picture = { frame, colors, decoder: new FrameDecoder(frame) };
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

function readTables(marker: number, segment: Uint8Array, tables: Tables): void {
  if (marker === DQT) readQuantization(segment, tables);
  if (marker === DHT) readHuffman(segment, tables);
}

function startsWith(bytes: Uint8Array, text: string): boolean {
  return bytes.length >= text.length &&
    Array.from(text).every((each, i) => bytes[i] === each.charCodeAt(0));
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

const SOI = 0xd8;

/** A marker with the bytes of its segment, which ends at `end`. */
export interface Segment {
  readonly marker: number;
  readonly segment: Uint8Array;
  readonly end: number;
}

/**
 * Finds the segments of a JPEG file, up to its end.
 *
 * @returns A generator whose `next` takes the place where to continue; by default the
 * end of the segment.
 * @throws {SyntaxError} If the file starts otherwise, or a segment is cut short.
 */
export function* segments(
  bytes: Uint8Array,
): Generator<Segment, void, number | undefined> {
  if (bytes[0] !== 0xff || bytes[1] !== SOI) {
    throw new SyntaxError(
      "Expected a JPEG file, which starts with the bytes 0xff and 0xd8",
    );
  }
  let place = 2;
  while (true) {
    const { marker, end } = findMarker(bytes, place);
    if (marker === END_MARKER) return;
    place = end;
    if (isAlone(marker)) continue;
    if (!isKnown(marker)) {
      throw new SyntaxError(
        `Unexpected marker 0xff${
          marker.toString(16).padStart(2, "0")
        } before byte ${end}`,
      );
    }
    const length = numberAt(bytes, end);
    if (length < 2 || end + length > bytes.length) {
      throw new SyntaxError(
        `The segment at ${end - 2} has ${length} bytes, of ${bytes.length}`,
      );
    }
    place = end + length;
    const segment = bytes.subarray(end + 2, place);
    place = (yield { marker, segment, end: place }) ?? place;
  }
}

/** Whether a marker has no segment: TEM, and the restart markers. */
function isAlone(marker: number): boolean {
  return marker === 1 || marker >= 0xd0 && marker <= 0xd7;
}

/** Whether a marker is defined, but not for hierarchical files or extensions. */
function isKnown(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xef &&
      ![0xc8, SOI, 0xde, 0xdf].includes(marker) || marker === 0xfe;
}

/** The number of two bytes at a place; 0 beyond the end. */
export function numberAt(bytes: Uint8Array, place: number): number {
  return (bytes[place] ?? 0) << 8 | (bytes[place + 1] ?? 0);
}

/** The headers before a frame that decide its colors. */
export interface Headers {
  isJfif: boolean;
  /** The transform in Adobe's segment. */
  adobe: number | undefined;
}

/** A conversion of colors. */
export interface Conversion {
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
export function conversionOf(
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
