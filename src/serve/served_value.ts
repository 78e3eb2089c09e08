import type { ByteRange } from "../stores/mod.ts";
import { type Validators, validatorsOf } from "./conditions.ts";
import type { Deadline } from "./deadline.ts";

/** The most bytes that an answer keeps in memory, apart from those of the next window. */
export const WINDOW: number = 4 * 1024 * 1024;

/** Part of a value: in memory, or read window by window while it is sent. */
type Body = Uint8Array | AsyncGenerator<Uint8Array, void>;

/** A present value that a request asks for. */
export interface Value {
  /** The length in bytes. */
  readonly size: number;
  readonly validators: Validators;
  /** Asks whether the value has not changed since it was looked up. */
  isCurrent(deadline: Deadline): Promise<boolean>;
  /**
   * Opens the bytes from `start` to `end`, of which there is at least one. Returns
   * `undefined` if the value has changed since it was looked up.
   */
  open(
    start: number,
    end: number,
    deadline: Deadline,
  ): Promise<Body | undefined>;
  /** Ends the use of the value. */
  release(): void;
}

/** Returns a value in memory. */
export function valueInMemory(
  bytes: Uint8Array,
  tag: string | undefined,
): Value {
  return {
    size: bytes.length,
    validators: validatorsOf(tag),
    isCurrent: () => Promise.resolve(true),
    open: (start, end) => Promise.resolve(bytes.slice(start, end)),
    release() {},
  };
}

/** A value that is read by ranges. */
interface RangedValue extends Omit<Value, "open"> {
  /** Bytes that were read when the value was looked up, and the first of them. */
  readonly latest?: { readonly start: number; readonly bytes?: Uint8Array };
  /** Reads a range; `undefined` if the value has changed since it was looked up. */
  read(range: ByteRange, deadline: Deadline): Promise<Uint8Array | undefined>;
}

/** Returns a value that is read by ranges of at most a window. */
export function rangedValue({ latest, read, ...rest }: RangedValue): Value {
  return {
    ...rest,
    async open(start, end, deadline) {
      const readFrom = async (start: number, end: number) => {
        const range = { offset: start, length: end - start };
        const bytes = await read(range, deadline);
        return bytes?.length === range.length ? bytes : undefined;
      };
      const next = Math.min(start + WINDOW, end);
      const isRead = latest?.start === start &&
        latest.bytes?.length === next - start;
      const first = isRead ? latest.bytes : await readFrom(start, next);
      return first && next < end ? windows(first, next, end, readFrom) : first;
    },
  };
}

/**
 * Reads bytes window by window, at most one window ahead of the client. A window of fewer
 * bytes is an error.
 *
 * @param first The first window, which is in memory.
 * @param next The start of the second one.
 * @param read Reads the bytes from `start` to `end`; `undefined` if the value has changed.
 */
async function* windows(
  first: Uint8Array,
  next: number,
  end: number,
  read: (start: number, end: number) => Promise<Uint8Array | undefined>,
): AsyncGenerator<Uint8Array, void> {
  let bytes: Uint8Array | undefined = first;
  while (bytes !== undefined) {
    const start = next;
    next = Math.min(start + WINDOW, end);
    const coming = start < end ? read(start, next) : undefined;
    coming?.catch(() => {}); // Handled when the client asks for the window.
    yield bytes;
    if (coming === undefined) return;
    bytes = await coming;
  }
  throw new Error("The value has changed while it was sent");
}

/**
 * Streams bytes. A failure is an error of the stream, which ends the connection.
 *
 * @param length The number of bytes.
 * @param ended Called at the end.
 */
export function streamOf(
  pieces: AsyncGenerator<Uint8Array, void>,
  length: number,
  deadline: Deadline,
  ended: () => void,
): ReadableStream<Uint8Array> {
  let missing = length;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { value } = await pieces.next();
        controller.enqueue(value!);
        missing -= value!.length;
      } catch (error) {
        deadline.fail(error);
        ended();
        throw error;
      }
      if (missing > 0) return;
      controller.close();
      ended();
    },
    async cancel(reason) {
      deadline.abort(reason);
      await pieces.return().catch(() => {});
      ended();
    },
  }, { highWaterMark: 0 });
}
