import { joinBytes } from "../stores/join_bytes.ts";
import type { Deadline } from "./deadline.ts";
import { lengthOf, type Pieces, WINDOW } from "./value.ts";

/** Bodies of up to this size are joined, since a stream takes longer than a copy. */
const SHORT = 64 * 1024;

/** Returns pieces as a body. */
export function bodyOf(
  pieces: Pieces,
): Uint8Array | ReadableStream<Uint8Array> {
  const isShort = lengthOf(pieces) <= SHORT;
  return isShort ? joinBytes(pieces) : pieceStream(pieces);
}

/** Streams pieces as they are: a `Response` copies bytes, and no streams. */
function pieceStream(pieces: Pieces): ReadableStream<Uint8Array> {
  const rest = pieces.filter(({ length }) => length > 0);
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      controller.enqueue(rest.shift()!);
      if (rest.length === 0) controller.close();
    },
  }, { highWaterMark: 0 });
}

/**
 * Streams bytes that are read window by window, at most one window ahead of the client. A
 * window of fewer bytes is an error of the stream, which ends the connection.
 *
 * @param first The first window, which is in memory.
 * @param read Reads the bytes from `start` to `end`; `undefined` if the value has changed.
 * @param done Called once, at the end.
 */
export function windowStream(
  first: Pieces,
  start: number,
  end: number,
  read: (start: number, end: number) => Promise<Pieces | undefined>,
  deadline: Deadline,
  done: () => void,
): ReadableStream<Uint8Array> {
  let next = start;
  const readNext = () => {
    const from = next;
    next = Math.min(next + WINDOW, end);
    const window = from === next ? undefined : read(from, next);
    window?.catch(() => {}); // Handled when the client asks for the window.
    return { length: next - from, window };
  };
  next += lengthOf(first);
  let coming: ReturnType<typeof readNext> | undefined;
  let pieces = [...first];
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (pieces.length === 0) {
        const { length, window } = coming!;
        try {
          const found = await window;
          if (found === undefined || lengthOf(found) !== length) {
            throw new Error("The value has changed while it was sent");
          }
          pieces = [...found];
        } catch (error) {
          deadline.fail(error);
          done();
          throw error;
        }
        coming = undefined;
      }
      coming ??= readNext();
      controller.enqueue(pieces.shift()!);
      if (pieces.length === 0 && coming.length === 0) {
        controller.close();
        done();
      }
    },
    cancel(reason) {
      deadline.abort(reason);
      done();
    },
  }, { highWaterMark: 0 });
}
