/** The state of a stream, and why it failed or was cancelled. */
export type Fate =
  | { open: true }
  | { ended: true }
  | { failed: unknown }
  | { cancelled: unknown };

/**
 * Creates a stream of pieces that then ends, fails with `end`, or calls `end` and
 * stalls. A piece is created only when it is pulled.
 */
export function observedStream(
  pieces: Iterable<Uint8Array>,
  end?: Error | (() => void),
): { stream: ReadableStream<Uint8Array>; fate(): Fate; pulled(): number } {
  const iterator = pieces[Symbol.iterator]();
  let fate: Fate = { open: true };
  let pulled = 0;
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      const { done, value } = iterator.next();
      if (!done) {
        pulled += value.length;
        return controller.enqueue(value);
      }
      if (typeof end === "function") {
        end();
        return new Promise(() => {});
      }
      if (end === undefined) {
        fate = { ended: true };
        controller.close();
      } else {
        fate = { failed: end };
        controller.error(end);
      }
    },
    cancel(reason) {
      fate = { cancelled: reason };
    },
  }, { highWaterMark: 0 });
  return { stream, fate: () => fate, pulled: () => pulled };
}

/** Yields copies of consecutive pieces of `length` bytes; the last one may be shorter. */
export function* piecesOf(
  bytes: Uint8Array,
  length: number,
): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += length) {
    yield bytes.slice(at, at + length);
  }
}
