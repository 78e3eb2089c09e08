import { describe } from "../metadata/describe.ts";
import type { ByteReader } from "../stores/byte_io.ts";
import { takeShortcut } from "../stores/shortcut.ts";

/** Bytes that come piece by piece, from a stream or into given memory. */
export interface ByteSource {
  /**
   * The next piece, or `undefined` at the end.
   *
   * @param window Gives memory that the source may fill. A piece that lies there
   * stays as it is until `next` is called for the second time after it.
   */
  next(window: () => Uint8Array): Promise<Uint8Array | undefined>;
  /** Lets go of the source; after the end that does nothing. Never fails and never waits for `next`. */
  cancel(reason: unknown): void;
}

/** The bytes of a stream, by its shortcut if it has one, or of a reader. */
export function sourceOf(
  value: ReadableStream<Uint8Array> | ByteReader,
): ByteSource {
  if ("getReader" in Object(value)) {
    const stream = value as ReadableStream<Uint8Array>;
    const reader = takeShortcut(stream, "reader");
    return reader ? readerSource(reader) : streamSource(stream);
  }
  if (typeof (value as ByteReader | undefined)?.read === "function") {
    return readerSource(value as ByteReader);
  }
  throw new TypeError(
    `Expected a ReadableStream or an object with a "read" method to read from, found ${
      describe(value)
    }`,
  );
}

function streamSource(stream: ReadableStream<Uint8Array>): ByteSource {
  const reader = stream.getReader();
  return {
    async next() {
      const { done, value } = await reader.read();
      if (done) return undefined;
      if (value instanceof Uint8Array) return value;
      throw new TypeError(
        `Expected a stream of Uint8Array, found ${describe(value)} in it`,
      );
    },
    cancel(reason) {
      reader.cancel(reason).catch(() => {});
    },
  };
}

function readerSource(reader: ByteReader): ByteSource {
  let isOpen = true;
  function close() {
    if (!isOpen) return;
    isOpen = false;
    // All was read, or nobody wants it any more.
    closeReader(reader).catch(() => {});
  }
  return {
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
