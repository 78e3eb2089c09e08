import { joinBytes } from "../runtime/mod.ts";
import { type Validators, validatorsOf } from "./conditions.ts";
import type { Deadline } from "./deadline.ts";

/** The most bytes that an answer keeps in memory, apart from those of the next piece. */
export const WINDOW: number = 4 * 1024 * 1024;

/** Bytes that follow one another. */
export type Pieces = readonly Uint8Array[];

/** Part of a value: in memory, or a stream for more than one window. */
export type Body = Pieces | ReadableStream<Uint8Array>;

/** Returns the number of bytes in pieces. */
export function lengthOf(pieces: Pieces): number {
  return pieces.reduce((sum, { length }) => sum + length, 0);
}

/** A present value that a request asks for. */
export interface Value {
  /** The length in bytes. */
  readonly size: number;
  readonly validators: Validators;
  /** Asks whether the value has not changed since it was looked up. */
  isCurrent(deadline: Deadline): Promise<boolean>;
  /** Fills memory with the bytes from `start` at once; returns `false` if `open` must be called. */
  readNow?(start: number, memory: Uint8Array): boolean;
  /**
   * Opens the bytes from `start` to `end`, of which there is at least one. Returns
   * `undefined` if the value has changed since it was looked up.
   */
  open(
    start: number,
    end: number,
    deadline: Deadline,
  ): Promise<Body | undefined>;
  /** Ends the use of the value, unless a stream is open: it does so at its end. */
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
    open: (start, end) => Promise.resolve([bytes.slice(start, end)]),
    release() {},
  };
}

/** The longest body that is read at once, in bytes. A stream takes longer than a copy of one. */
export const SHORT: number = 64 * 1024;

/** The most pieces of memory that are kept. */
const MOST_FREE = 16;

/** Memory that no answer uses. New memory takes longer than reading a short file into it. */
const free: Uint8Array[] = [];

/**
 * Reads a short body at once. Its memory must be given back by {@linkcode releaseBody}
 * once a `Response` has copied the body. Returns `undefined` if the body must be opened.
 */
export function readShortBody(
  value: Value,
  start: number,
  end: number,
): Uint8Array | undefined {
  if (value.readNow === undefined || end - start > SHORT) return undefined;
  const memory = free.pop() ?? new Uint8Array(SHORT);
  const body = memory.subarray(0, end - start);
  if (value.readNow(start, body)) return body;
  free.push(memory);
}

/** Gives the memory of a short body back. */
export function releaseBody({ buffer }: Uint8Array): void {
  if (free.length < MOST_FREE) free.push(new Uint8Array(buffer));
}

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
