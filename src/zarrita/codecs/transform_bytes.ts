import { joinBytes } from "../../stores/join_bytes.ts";

/** Thrown if the output of a stream is longer than its limit. */
export class TooLongError extends Error {}

/** Deflate expands a piece of the input at most 1032 times before the limit is checked. */
const PIECE = 2 ** 14;

/**
 * Sends bytes through a stream that encodes or decodes them.
 *
 * @param limit The most bytes that the stream may produce.
 * @param options `piece`: the number of bytes that the stream gets at once; `pieces`:
 * takes what the stream produces, also before an error.
 * @throws {TooLongError} If the stream produces more bytes.
 */
export async function transformBytes(
  bytes: Uint8Array,
  stream: GenericTransformStream,
  limit: number = Infinity,
  { piece: size = PIECE, pieces = [] }: {
    piece?: number;
    pieces?: Uint8Array[];
  } = {},
): Promise<Uint8Array> {
  let offset = 0;
  const source = new ReadableStream({
    pull(controller) {
      if (offset >= bytes.length) return controller.close();
      controller.enqueue(bytes.subarray(offset, offset + size));
      offset += size;
    },
  });
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
