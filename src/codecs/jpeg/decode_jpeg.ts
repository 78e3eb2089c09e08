import {
  type Colors,
  type Conversion,
  conversionOf,
  type Headers,
} from "./colors.ts";
import { type Frame, isFrameMarker, readFrame } from "./frame.ts";
import { FrameDecoder } from "./frame_decoder.ts";
import { upsampler } from "./samples.ts";
import { numberAt, readJpegTables, readTables, segments } from "./segments.ts";

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
