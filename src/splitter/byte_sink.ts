import { describe } from "../errors/mod.ts";
import { type ByteWriter, writeAll } from "../stores/mod.ts";
import { isNodeStream } from "./byte_source.ts";
import { type Part, storingOrder } from "./parts.ts";

/** The destination of the bytes of one part. */
export interface ByteSink {
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
  if (isNodeStream(value)) {
    throw new TypeError(
      "Expected a WritableStream, found a stream of Node: use Writable.toWeb(stream)",
    );
  }
  if (typeof (value as ByteWriter | undefined)?.write === "function") {
    return writerSink(value as ByteWriter);
  }
  throw new TypeError(
    `Expected a WritableStream or an object with a "write" method to write to, found ${
      describe(value)
    }${
      typeof value === "string"
        ? ": create the file, and return it or its stream"
        : ""
    }`,
  );
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
