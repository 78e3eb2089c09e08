import { describe } from "../metadata/describe.ts";
import { type ByteWriter, isNodeStream, writeAll } from "../stores/byte_io.ts";

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
  /** Resolves when all writes are done; those of a stream may go on after `write` has resolved. */
  flush?(): Promise<void>;
  /** Rejects if the sink fails, also while nothing is written. It needs no handler. */
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
