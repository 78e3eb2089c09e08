import { WINDOW } from "./value.ts";
import type { Deadline } from "./deadline.ts";

/**
 * Streams bytes that are read window by window, at most one window ahead of the client. A
 * window of fewer bytes is an error of the stream, which ends the connection.
 *
 * @param first The first window, which is in memory.
 * @param read Reads the bytes from `start` to `end`; `undefined` if the value has changed.
 * @param done Called once, at the end.
 */
export function windowStream(
  first: Uint8Array,
  start: number,
  end: number,
  read: (start: number, end: number) => Promise<Uint8Array | undefined>,
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
  next += first.length;
  let coming: ReturnType<typeof readNext> | undefined;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      let bytes: Uint8Array | undefined = first;
      if (coming !== undefined) {
        const { length, window } = coming;
        try {
          bytes = await window;
          if (bytes?.length !== length) {
            throw new Error("The value has changed while it was sent");
          }
        } catch (error) {
          deadline.fail(error);
          done();
          throw error;
        }
      }
      coming = readNext();
      controller.enqueue(bytes!);
      if (coming.length === 0) {
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
