import { digestOf } from "../runtime/mod.ts";
import { type ByteRange, resolveByteRange } from "../stores/mod.ts";
import type { Deadline } from "./deadline.ts";
import { type Validators, validatorsOf } from "./request.ts";

/** The most bytes that an answer keeps in memory, apart from those of the next window. */
export const WINDOW: number = 4 * 1024 * 1024;

/** A present value that a request asks for. */
export interface Value {
  /** The length in bytes. */
  readonly size: number;
  readonly validators: Validators;
  /**
   * The bytes that were read when the value was looked up, and the first of them.
   * `undefined` for a version that was kept, and may have changed since.
   */
  readonly latest?: { readonly start: number; readonly bytes?: Uint8Array };
  /** Reads a range; `undefined` if the value has changed since it was looked up. */
  read(range: ByteRange, deadline: Deadline): Promise<Uint8Array | undefined>;
  /** Ends the use of the value. */
  release(): void;
}

/** Returns a value in memory, whose entity tag is the digest of its bytes. */
export async function valueInMemory(bytes: Uint8Array): Promise<Value> {
  return {
    size: bytes.length,
    validators: validatorsOf(await digestOf(bytes)),
    latest: { start: 0 },
    read(range) {
      const { start, end } = resolveByteRange(range, bytes.length);
      return Promise.resolve(bytes.slice(start, end));
    },
    release() {},
  };
}

/**
 * Opens the bytes of a value from `start` to `end`, of which there is at least one. More
 * than a window of them is a stream, which reads at most one window ahead of the client, and
 * releases the value at its end. A failure is an error of the stream, which ends the
 * connection.
 *
 * @returns `undefined` if the value has changed since it was looked up.
 */
export async function openValue(
  { latest, read, release }: Value,
  start: number,
  end: number,
  deadline: Deadline,
): Promise<Uint8Array | ReadableStream<Uint8Array> | undefined> {
  const readWindow = async (offset: number) => {
    const length = Math.min(WINDOW, end - offset);
    const isRead = latest?.start === offset && latest.bytes?.length === length;
    if (isRead) return latest.bytes;
    const bytes = await read({ offset, length }, deadline);
    return bytes?.length === length ? bytes : undefined;
  };
  const first = await readWindow(start);
  if (first === undefined || first.length === end - start) return first;
  let next = start + first.length;
  let coming: Promise<Uint8Array | undefined> = Promise.resolve(first);
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const bytes = await coming;
        if (bytes === undefined) {
          throw new Error("The value has changed while it was sent");
        }
        const isLast = next === end;
        if (!isLast) {
          coming = readWindow(next);
          coming.catch(() => {}); // Handled when the client asks for the window.
          next = Math.min(next + WINDOW, end);
        }
        controller.enqueue(bytes);
        if (!isLast) return;
        controller.close();
        release();
      } catch (error) {
        deadline.fail(error);
        release();
        throw error;
      }
    },
    async cancel(reason) {
      deadline.abort(reason);
      await coming.catch(() => {});
      release();
    },
  }, { highWaterMark: 0 });
}
