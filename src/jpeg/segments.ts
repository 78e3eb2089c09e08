import { END_MARKER, findMarker } from "./bit_reader.ts";

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
