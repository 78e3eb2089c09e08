import { describe } from "../metadata/describe.ts";
import { type ByteWriter, isNodeStream, writeAll } from "../stores/byte_io.ts";

/** Where the bytes of one part go. */
export interface ByteSink {
  /**
   * Writes bytes.
   *
   * @param bytes Any number of bytes.
   * @param isLent Whether they may change once the promise has settled. If not,
   * they are the sink's.
   */
  write(bytes: Uint8Array, isLent: boolean): Promise<void>;
  /** Resolves when all writes have been taken; a stream takes them after `write` has resolved. */
  flush?(): Promise<void>;
  /** Rejects where a failure shows itself without a write. Need not be looked at. */
  readonly failure?: Promise<void>;
  close(): Promise<void>;
  /** Gives up what is not closed. Never fails, and waits for no write. */
  abort(reason: unknown): Promise<void>;
}

/** A stream or a writer as a sink. */
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
    }`,
  );
}

function streamSink(stream: WritableStream<Uint8Array>): ByteSink {
  const writer = stream.getWriter();
  let writing = 0;
  let lastWrite = Promise.resolve();
  const failure = writer.closed.then(() => {});
  failure.catch(() => {}); // It need not be looked at.
  return {
    failure,
    async write(bytes, isLent) {
      // A stream's sink may keep what it is given.
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
      // A write that stalls would keep the stream from being aborted for ever.
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
        // It is given up all the same.
      }
    },
  };
}
