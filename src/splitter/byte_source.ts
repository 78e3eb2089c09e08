import { describe } from "../errors/mod.ts";
import { type ByteReader, takeShortcut } from "../stores/mod.ts";

/** Bytes that come piece by piece. */
export interface ByteSource {
  /** Whether pieces lie in the memory that `window` gives, and not in memory of their own. */
  readonly fillsWindows: boolean;
  /**
   * Resolves to the next piece, or to `undefined` at the end.
   *
   * @param window Returns memory of at least one byte, which the source may fill from its start on.
   */
  next(window: () => Uint8Array): Promise<Uint8Array | undefined>;
  /** Closes the source without waiting or throwing. Does nothing after the end. */
  cancel(reason: unknown): void;
}

/** Returns a source of the bytes of a reader or a stream. The shortcut of a stream is used if it has one. */
export function sourceOf(
  value: ReadableStream<Uint8Array> | ByteReader,
): ByteSource {
  if ("getReader" in Object(value)) {
    const stream = value as ReadableStream<Uint8Array>;
    const reader = takeShortcut(stream, "reader");
    return reader ? readerSource(reader) : streamSource(stream);
  }
  if (isNodeStream(value)) {
    throw new TypeError(
      "Expected a ReadableStream, found a stream of Node: use Readable.toWeb(stream)",
    );
  }
  if (typeof (value as ByteReader | undefined)?.read === "function") {
    return readerSource(value as ByteReader);
  }
  throw new TypeError(
    `Expected a ReadableStream or an object with a "read" method to read from, found ${
      describe(value)
    }${
      typeof value === "string"
        ? ": open the file, and pass it or its stream"
        : ""
    }`,
  );
}

function streamSource(stream: ReadableStream<Uint8Array>): ByteSource {
  const reader = stream.getReader();
  return {
    fillsWindows: false,
    async next() {
      const { done, value } = await reader.read();
      if (done) return undefined;
      if (value instanceof Uint8Array) return value;
      throw new TypeError(
        `Expected a stream of Uint8Array, found ${describe(value)} in it`,
      );
    },
    cancel: (reason) => void reader.cancel(reason).catch(() => {}),
  };
}

function readerSource(reader: ByteReader): ByteSource {
  let isOpen = true;
  const close = () => {
    if (isOpen) closeReader(reader).catch(() => {});
    isOpen = false;
  };
  return {
    fillsWindows: true,
    async next(window) {
      if (!isOpen) return undefined;
      const memory = window();
      const read = await reader.read(memory);
      if (read === null) {
        close();
        return undefined;
      }
      if (Number.isInteger(read) && read > 0 && read <= memory.length) {
        return memory.subarray(0, read);
      }
      throw new RangeError(
        `Expected a reader to read 1 to ${memory.length} bytes or null, found ${
          describe(read)
        }`,
      );
    },
    cancel: close,
  };
}

async function closeReader(reader: ByteReader): Promise<void> {
  await reader.close?.();
}

/** Returns whether a value is a stream of Node, whose `read` and `write` are not those of readers and writers. */
export function isNodeStream(value: unknown): boolean {
  return typeof (value as { pipe?: unknown } | undefined)?.pipe === "function";
}

/** The steps by which {@linkcode pump} passes each piece on. */
interface Steps<T> {
  /** Resolves to the next piece, or to `undefined` at the end. */
  read(): Promise<Uint8Array | undefined>;
  /** Takes a piece, before the next one is read. */
  take(piece: Uint8Array): T;
  /**
   * Sums up and writes what `take` returned, while the next piece is read. Called in
   * the order of the pieces. `before` resolves once the previous piece is written, which
   * must be awaited before writing.
   */
  write(taken: T, before: Promise<void>): Promise<void>;
}

/** A running {@linkcode pump}. */
interface Pumping {
  /** Resolves when all pieces are written, and rejects with the first failure, also while `read` stalls. */
  readonly done: Promise<void>;
  /** Resolves when the last read and the last write have ended, also after a failure. */
  readonly settled: Promise<void>;
}

/**
 * Passes all pieces on: while one is read, the one before is summed up and the one
 * before that is written.
 *
 * @param signal Ends the work with its reason after the piece that is being read.
 */
export function pump<T>(
  steps: Steps<T>,
  signal: AbortSignal | undefined,
): Pumping {
  let fail!: (reason: unknown) => void;
  let finish!: () => void;
  const done = new Promise<void>((resolve, reject) => {
    finish = resolve;
    fail = reject;
  });
  let hasFailed = false;
  let before = Promise.resolve();
  let writing = before;

  function stop(reason: unknown): void {
    hasFailed = true;
    fail(reason);
  }

  function read(): Promise<Uint8Array | undefined> {
    const reading = steps.read();
    reading.catch(() => {}); // Handled once the piece before is written.
    return reading;
  }

  async function passAll(): Promise<void> {
    let reading = read();
    try {
      while (true) {
        const piece = await reading;
        // A source that was cancelled looks as if it had ended.
        signal?.throwIfAborted();
        if (hasFailed || piece === undefined) break;
        const taken = steps.take(piece);
        reading = read();
        before = writing;
        writing = steps.write(taken, before);
        writing.catch(stop);
        await before;
      }
      await writing;
      finish();
    } catch (error) {
      stop(error);
      await Promise.allSettled([reading, before, writing]);
    }
  }
  return { done, settled: passAll() };
}
