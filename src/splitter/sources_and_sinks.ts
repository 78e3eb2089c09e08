import { describe, sentence } from "../errors/mod.ts";
import {
  type ByteReader,
  type ByteWriter,
  takeShortcut,
  writeAll,
} from "../stores/mod.ts";
import { type Part, storingOrder } from "./stream_options.ts";

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
  if (isReader(value, "read")) return readerSource(value as ByteReader);
  throw notAStream(value, "Readable", "read");
}

/** Whether a value has a method of readers or writers. Those of streams of Node do something else. */
function isReader(value: unknown, method: "read" | "write"): boolean {
  const { [method]: own, pipe } = Object(value);
  return typeof own === "function" && typeof pipe !== "function";
}

/** The error for a value that is neither a stream nor a reader or writer. */
function notAStream(
  value: unknown,
  kind: "Readable" | "Writable",
  method: "read" | "write",
): TypeError {
  const found = typeof Object(value).pipe === "function"
    ? `a stream of Node: use ${kind}.toWeb(stream)`
    : describe(value);
  return new TypeError(
    `Expected a ${kind}Stream or an object with a "${method}" method, found ${found}`,
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
        sentence`Expected a stream of Uint8Array, found ${value} in it`,
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
        sentence`Expected a reader to read 1 to ${memory.length} bytes or null, found ${read}`,
      );
    },
    cancel: close,
  };
}

async function closeReader(reader: ByteReader): Promise<void> {
  await reader.close?.();
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

/** The destination of the bytes of one part. */
interface ByteSink {
  /**
   * Writes bytes.
   *
   * @param bytes Any number of bytes.
   * @param isLent Whether the memory is used again once the promise has resolved. If
   * not, the sink may keep or transfer it.
   */
  write(bytes: Uint8Array, isLent: boolean): Promise<void>;
  /** Resolves when all writes are done. Writes to a stream may go on after `write` has resolved. */
  flush?(): Promise<void>;
  /** Rejects if the sink fails, also while nothing is written. The promise needs no handler. */
  readonly failure?: Promise<void>;
  close(): Promise<void>;
  /** Aborts the sink unless it is closed. Never rejects, and does not wait for a write. */
  abort(reason: unknown): Promise<void>;
}

/** Returns a sink that writes to a stream or a writer. */
export function sinkOf(
  value: WritableStream<Uint8Array> | ByteWriter,
): ByteSink {
  if ("getWriter" in Object(value)) {
    return streamSink(value as WritableStream<Uint8Array>);
  }
  if (isReader(value, "write")) return writerSink(value as ByteWriter);
  throw notAStream(value, "Writable", "write");
}

function streamSink(stream: WritableStream<Uint8Array>): ByteSink {
  const writer = stream.getWriter();
  let writing = 0;
  let lastWrite = Promise.resolve();
  const failure = writer.closed.then(() => {});
  failure.catch(() => {});
  return {
    failure,
    async write(bytes, isLent) {
      // A stream may keep or transfer the memory.
      const kept = isLent ? new Uint8Array(bytes) : bytes;
      await writer.ready;
      writing++;
      lastWrite = writer.write(kept);
      lastWrite.catch(() => {}).finally(() => writing--);
    },
    flush: () => lastWrite,
    async close() {
      try {
        await writer.close();
      } catch (error) {
        // A stream that has failed refuses to be closed; its own error says why.
        await writer.closed;
        throw error;
      }
    },
    async abort(reason) {
      const aborted = writer.abort(reason).catch(() => {});
      // Aborting waits for the present write, which may never end.
      if (writing === 0) await aborted;
    },
  };
}

function writerSink(writer: ByteWriter): ByteSink {
  let isOpen = true;
  return {
    write: (bytes) => writeAll(writer, bytes),
    async close() {
      isOpen = false;
      await writer.close();
    },
    async abort(reason) {
      if (!isOpen) return;
      isOpen = false;
      try {
        await (writer.abort ? writer.abort(reason) : writer.close());
      } catch {
        // The writer is given up anyway.
      }
    },
  };
}

/** The sinks of the parts of one chunk. Each is opened when it is first needed, in the order of the parts. */
export class PartSinks {
  readonly #parts: readonly Part[];
  readonly #open: (part: Part) => Promise<ByteSink>;
  readonly #sinks: ByteSink[] = [];
  #aborted: { reason: unknown } | undefined;
  #fail!: (reason: unknown) => void;
  /** Rejects when a sink fails. The promise needs no handler. */
  readonly failure: Promise<never> = new Promise<never>((_, reject) => {
    this.#fail = reject;
  });

  constructor(
    parts: readonly Part[],
    open: (part: Part) => Promise<ByteSink>,
  ) {
    this.#parts = parts;
    this.#open = open;
    this.failure.catch(() => {});
  }

  /**
   * Returns the sink of a part. Opens the sink if it is not open yet, after the sinks of
   * earlier parts, which may have no bytes.
   *
   * @throws The reason of `abort`, if the sinks have been aborted.
   */
  async of(part: number): Promise<ByteSink> {
    if (this.#aborted !== undefined) throw this.#aborted.reason;
    while (this.#sinks.length <= part) await this.#openNext();
    return this.#sinks[part]!;
  }

  async #openNext(): Promise<void> {
    const sink = await this.#open(this.#parts[this.#sinks.length]!);
    if (this.#aborted !== undefined) {
      await sink.abort(this.#aborted.reason);
      throw this.#aborted.reason;
    }
    sink.failure?.catch(this.#fail);
    this.#sinks.push(sink);
  }

  /** Resolves when all writes are done, so that no part is closed if one of them fails. */
  async flush(): Promise<void> {
    await Promise.all(this.#sinks.map((sink) => sink.flush?.()));
  }

  /** Closes all sinks, in the order in which parts are stored. */
  async close(): Promise<void> {
    for (const part of storingOrder(this.#parts)) {
      await this.#sinks[this.#parts.indexOf(part)]!.close();
    }
  }

  /** Aborts all sinks that are not closed. Never rejects, and does not wait for a sink that is being opened. */
  async abort(reason: unknown): Promise<void> {
    this.#aborted ??= { reason };
    await Promise.all(this.#sinks.map((sink) => sink.abort(reason)));
  }
}
