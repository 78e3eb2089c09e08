import { joinBytes } from "../stores/join_bytes.ts";
import type { Deadline } from "./deadline.ts";
import { SHORT } from "./short_body.ts";
import { lengthOf, type Pieces, WINDOW } from "./value.ts";

/** Returns pieces as a body. */
export function bodyOf(
  pieces: Pieces,
): Uint8Array | ReadableStream<Uint8Array> {
  if (pieces.length === 1) return pieces[0]!;
  return lengthOf(pieces) <= SHORT ? joinBytes(pieces) : pieceStream(pieces);
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
 * Streams pieces, some of which are streams. Fewer or more bytes than `length` are an
 * error of the stream, which ends the connection.
 *
 * @param done Called once, at the end.
 */
export function joinedStream(
  pieces: readonly (Uint8Array | ReadableStream<Uint8Array>)[],
  length: number,
  deadline: Deadline,
  done: () => void,
): ReadableStream<Uint8Array> {
  const rest = [...pieces];
  let missing = length;
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  const next = async (): Promise<Uint8Array | undefined> => {
    while (true) {
      const found = reader && await deadline.run(() => reader!.read());
      if (found?.value !== undefined) return found.value;
      const piece = rest.shift();
      if (piece === undefined || piece instanceof Uint8Array) return piece;
      reader = piece.getReader();
    }
  };
  const cancelAll = async (reason: unknown) => {
    await reader?.cancel(reason).catch(() => {});
    for (const piece of rest) {
      if ("getReader" in piece) await piece.cancel(reason).catch(() => {});
    }
    done();
  };
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const bytes = await next();
        missing -= bytes?.length ?? 0;
        if (bytes === undefined ? missing > 0 : missing < 0) {
          throw new Error("The value has changed while it was sent");
        }
        if (bytes !== undefined) controller.enqueue(bytes);
        if (missing > 0) return;
      } catch (error) {
        deadline.fail(error);
        await cancelAll(error);
        throw error;
      }
      controller.close();
      await cancelAll(undefined);
    },
    async cancel(reason) {
      deadline.abort(reason);
      await cancelAll(reason);
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
