import { describe } from "../errors/mod.ts";
import { nextTurn } from "../runtime/mod.ts";
import {
  type ByteReader,
  fillFrom,
  isRegularFile,
  type RegularFile,
  takeShortcut,
} from "../stores/mod.ts";

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
    return reader ? readerSource(reader) : new StreamSource(stream);
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

function readerSource(reader: ByteReader): ByteSource {
  return isRegularFile(reader)
    ? new FileSource(reader)
    : new ReaderSource(reader);
}

class StreamSource implements ByteSource {
  readonly fillsWindows = false;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;

  constructor(stream: ReadableStream<Uint8Array>) {
    this.#reader = stream.getReader();
  }

  async next(): Promise<Uint8Array | undefined> {
    const { done, value } = await this.#reader.read();
    if (done) return undefined;
    if (value instanceof Uint8Array) return value;
    throw new TypeError(
      `Expected a stream of Uint8Array, found ${describe(value)} in it`,
    );
  }

  cancel(reason: unknown): void {
    this.#reader.cancel(reason).catch(() => {});
  }
}

class ReaderSource implements ByteSource {
  readonly fillsWindows = true;
  readonly #reader: ByteReader;
  #isOpen = true;

  constructor(reader: ByteReader) {
    this.#reader = reader;
  }

  async next(window: () => Uint8Array): Promise<Uint8Array | undefined> {
    if (!this.#isOpen) return undefined;
    const memory = window();
    const read = await this.#reader.read(memory);
    if (read === null) {
      this.cancel();
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
  }

  cancel(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    closeReader(this.#reader).catch(() => {});
  }
}

/**
 * A file, which is read at once as long as its bytes are at hand. So the bytes of two
 * pieces need no third thread, and a piece is written while the next one is read.
 */
class FileSource implements ByteSource {
  readonly fillsWindows = true;
  readonly #file: RegularFile;
  #isOpen = true;
  #isBegun = false;

  constructor(file: RegularFile) {
    this.#file = file;
  }

  async next(window: () => Uint8Array): Promise<Uint8Array | undefined> {
    // Writing the piece before begins first, and other work goes on.
    if (this.#isBegun && this.#isOpen) await nextTurn();
    this.#isBegun = true;
    if (!this.#isOpen) return undefined;
    const memory = window();
    const filled = await fillFrom(this.#file, memory, () => this.#isOpen);
    if (filled < memory.length) this.cancel();
    return filled > 0 ? memory.subarray(0, filled) : undefined;
  }

  cancel(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    closeReader(this.#file).catch(() => {});
  }
}

async function closeReader(reader: ByteReader): Promise<void> {
  await reader.close?.();
}

/** Returns whether a value is a stream of Node, whose `read` and `write` are not those of readers and writers. */
export function isNodeStream(value: unknown): boolean {
  return typeof (value as { pipe?: unknown } | undefined)?.pipe === "function";
}
