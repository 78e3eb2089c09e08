import { joinBytes } from "../../stores/join_bytes.ts";

/** Thrown if the output of a stream is longer than its limit. */
export class TooLongError extends Error {}

/** Deflate expands a piece of the input at most 1032 times before the limit is checked. */
const PIECE = 2 ** 14;

/**
 * Sends bytes through a stream that encodes or decodes them.
 *
 * @param limit The most bytes that the stream may produce.
 * @throws {TooLongError} If the stream produces more bytes.
 */
export async function transformBytes(
  bytes: Uint8Array,
  stream: GenericTransformStream,
  limit: number = Infinity,
): Promise<Uint8Array> {
  let offset = 0;
  const source = new ReadableStream({
    pull(controller) {
      if (offset >= bytes.length) return controller.close();
      controller.enqueue(bytes.subarray(offset, offset + PIECE));
      offset += PIECE;
    },
  });
  const pieces: Uint8Array[] = [];
  let length = 0;
  const sink = new WritableStream<Uint8Array>({
    write(piece) {
      length += piece.length;
      if (length > limit) throw new TooLongError();
      pieces.push(piece);
    },
  });
  await source.pipeThrough(stream).pipeTo(sink);
  return joinBytes(pieces);
}
