import { CHECKSUM_SIZE } from "../checksum/mod.ts";
import { assertPartSize } from "../errors/mod.ts";
import { nextTurn, rejectOnAbort } from "../runtime/mod.ts";
import {
  type ByteReader,
  type ByteWriter,
  offerShortcut,
  type StoreOptions,
  writeAll,
} from "../stores/mod.ts";
import { type ByteSource, pump } from "./sources_and_sinks.ts";
import { type OpenEngine, openNative } from "./engines.ts";
import {
  type Part,
  type Settings,
  settingsOf,
  type SplitOptions,
  type SplitReport,
} from "./stream_options.ts";
import { type Cut, Splitter } from "./splitter.ts";

/** The parts of a chunk that is joined. */
interface Sources {
  /** Opens a part, when the one before has been read to its end. */
  open(part: number): ByteSource | Promise<ByteSource>;
  /** Closes parts that are open and not read yet, when the chunk is cancelled. */
  cancel?(reason: unknown): void;
  /** Called with the report once all parts have been joined and checked. */
  onReport?: ((report: SplitReport) => void) | undefined;
}

/** Bytes that were read at once, and their end in the chunk. */
interface Piece {
  readonly bytes: Uint8Array;
  readonly end: number;
}

/**
 * The bytes of all parts one after another. Bytes of parts that fill memory are
 * joined back to back, until the memory is full.
 */
export class JoinedSource {
  readonly settings: Settings;
  readonly #engine: OpenEngine;
  readonly #sources: Sources;
  #splitter: Splitter | undefined;
  /** The part that is read, and its source once it is open. */
  #part = 0;
  #partLength = 0;
  #source: ByteSource | undefined;
  #received = 0;
  /**
   * Pieces that have been read and may not go on yet. Where checksums are computed,
   * a piece is summed up while the next one is read, and waits until then.
   */
  readonly #waiting: Piece[] = [];
  /** The bytes of the last piece by their parts, until they are summed up. */
  #unsummed: Omit<Cut, "isLent">[] = [];
  #isEnded = false;
  #cancelled: { readonly reason: unknown } | undefined;

  constructor(settings: Settings, engine: OpenEngine, sources: Sources) {
    this.settings = settings;
    this.#engine = engine;
    this.#sources = sources;
  }

  /**
   * Resolves to the next piece, or to `undefined` at the end or once the source is
   * cancelled. If the checksum is verified, the last bytes are returned only after the
   * checksum was found to be right.
   *
   * @param window Returns memory that parts may fill; bytes are then returned as soon as
   * they have come. If not given, parts fill memory of the splitter, which is used again
   * after three more pieces, and bytes are returned when the memory is full.
   */
  next(window?: () => Uint8Array): Promise<Uint8Array | undefined> {
    return this.settings.hasChecksums
      ? this.#nextSummedUp(window)
      : this.#read(window);
  }

  async #nextSummedUp(
    window: (() => Uint8Array) | undefined,
  ): Promise<Uint8Array | undefined> {
    while (!this.#isEnded) {
      const reading = this.#read(window);
      this.#sumUp();
      const bytes = await reading;
      if (this.#cancelled !== undefined) return undefined;
      if (bytes === undefined) break;
      this.#waiting.push({ bytes, end: this.#received });
      const [first] = this.#waiting;
      const isOnly = this.#waiting.length === 1;
      const checksumSize = this.settings.isVerified ? CHECKSUM_SIZE : 0;
      if (!isOnly && first!.end <= this.#received - checksumSize) break;
    }
    return this.#waiting.shift()?.bytes;
  }

  /** Closes all parts that are open. */
  cancel(reason: unknown): void {
    this.#cancelled ??= { reason };
    this.#source?.cancel(reason);
    this.#sources.cancel?.(reason);
  }

  /** Gives the splitter's memory back. Nothing may be read afterwards. */
  release(): void {
    this.#splitter?.release();
    this.#splitter = undefined;
  }

  #started(): Splitter {
    return this.#splitter ??= new Splitter(this.settings, false, this.#engine);
  }

  /**
   * Resolves to bytes of one part or of several, or to `undefined` once the chunk has
   * ended or is cancelled.
   */
  async #read(
    window: (() => Uint8Array) | undefined,
  ): Promise<Uint8Array | undefined> {
    if (this.#isEnded || this.#cancelled !== undefined) return undefined;
    const splitter = this.#started();
    let memory: Uint8Array | undefined;
    let filled = 0;
    const room = () => {
      memory ??= window === undefined ? splitter.window() : window();
      return filled === 0 ? memory : memory.subarray(filled);
    };
    while (this.#part < this.settings.parts.length) {
      const source = this.#source ?? await this.#open();
      if (filled > 0 && !source.fillsWindows) break;
      const piece = await source.next(room);
      if (this.#cancelled !== undefined) return undefined;
      if (piece === undefined) this.#endPart(splitter);
      else {
        this.#take(splitter, piece);
        if (!source.fillsWindows && piece.length > 0) return piece;
        filled += piece.length;
        if (filled > 0 && filled === memory!.length) break;
        if (filled > 0 && window !== undefined && !this.#isWhole()) {
          break;
        }
      }
    }
    if (filled > 0) return memory!.subarray(0, filled);
    this.#end();
    return undefined;
  }

  async #open(): Promise<ByteSource> {
    const source = await this.#sources.open(this.#part);
    this.#source = source;
    if (this.#cancelled !== undefined) source.cancel(this.#cancelled.reason);
    return source;
  }

  #take(splitter: Splitter, piece: Uint8Array): void {
    this.#received += piece.length;
    this.#partLength += piece.length;
    const { size = Infinity } = this.settings.parts[this.#part]!;
    if (this.#partLength > size) this.#assertPartSize();
    splitter.join(piece);
    if (this.settings.hasChecksums) {
      this.#unsummed.push({ part: this.#part, bytes: piece });
    }
    if (piece.length > 0) this.settings.onProgress?.(this.#received);
  }

  #endPart(splitter: Splitter): void {
    this.#assertPartSize();
    splitter.endPart();
    this.#part++;
    this.#partLength = 0;
    this.#source = undefined;
  }

  /** Whether the part has a size, and all of it has come. */
  #isWhole(): boolean {
    return this.settings.parts[this.#part]!.size === this.#partLength;
  }

  #assertPartSize(): void {
    const { keySuffix, size } = this.settings.parts[this.#part]!;
    assertPartSize(this.settings.key + keySuffix, size, this.#partLength);
  }

  #sumUp(): void {
    this.#started().sum(this.#unsummed);
    this.#unsummed = [];
  }

  /** Refuses a chunk that is not right, and reports one that is. */
  #end(): void {
    this.#isEnded = true;
    this.#sumUp();
    this.#started().end();
    this.#sources.onReport?.(this.#started().report);
  }
}

/** The sizes in bytes of the first and of the longest pieces of a stream. */
const FIRST_PIECE = 64 * 1024;
const LONGEST_PIECE = 1024 * 1024;

/**
 * Returns a joined chunk as a stream with shortcuts: a store that takes memory can write
 * the chunk straight from the memory into which the parts were read, and a splitter can
 * have the parts read into its own memory.
 */
export function streamOf(source: JoinedSource): ReadableStream<Uint8Array> {
  const { signal } = source.settings;
  let size = FIRST_PIECE;
  const read = () => source.next(() => new Uint8Array(size));
  /** The next piece, which is read while its receiver is busy with a long one. */
  let ahead: Promise<Uint8Array | undefined> | undefined;
  let isOver = false;
  let stop = () => {};
  function end(): void {
    isOver = true;
    signal?.removeEventListener("abort", stop);
    source.release();
  }
  function fail(reason: unknown): void {
    source.cancel(reason);
    end();
  }
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      stop = () => {
        controller.error(signal!.reason);
        fail(signal!.reason);
      };
      if (signal?.aborted) stop();
      else signal?.addEventListener("abort", stop);
    },
    async pull(controller) {
      try {
        const piece = await (ahead ?? read());
        ahead = undefined;
        if (signal?.aborted) return;
        if (piece === undefined) {
          end();
          return controller.close();
        }
        // Longer pieces take fewer turns of the stream. A piece that was not filled is the
        // end of a part, or came from a reader with few bytes at a time.
        const isFull = piece.length === piece.buffer.byteLength;
        size = isFull ? Math.min(2 * size, LONGEST_PIECE) : FIRST_PIECE;
        controller.enqueue(piece);
        if (isFull && piece.length === LONGEST_PIECE) {
          // The receiver begins to write the piece before the next one is read and summed up.
          ahead = nextTurn().then(() => isOver ? undefined : read());
          ahead.catch(() => {}); // Thrown when the stream asks for the piece.
        }
      } catch (error) {
        fail(error);
        throw error;
      }
    },
    cancel: fail,
  }, { highWaterMark: 0 });
  return offerShortcut(stream, {
    // With checksums, bytes are held back in the memory into which they were read.
    ...!source.settings.hasChecksums && { reader: readerOf(source, stop) },
    drain(writer, options) {
      signal?.removeEventListener("abort", stop);
      return drain(source, writer, options);
    },
  });
}

/** Joins sources to a stream, natively. */
export function joinedStream(
  parts: readonly Part[],
  sources: Sources,
  options: SplitOptions,
): ReadableStream<Uint8Array> {
  const settings = settingsOf(parts, [], options);
  return streamOf(new JoinedSource(settings, openNative, sources));
}

/** Returns a reader that reads a source into memory of the caller. */
function readerOf(source: JoinedSource, stop: () => void): ByteReader {
  const { signal } = source.settings;
  /** The rest of a piece that does not lie in memory of the caller. */
  let rest: Uint8Array | undefined;
  return {
    async read(memory) {
      signal?.throwIfAborted();
      if (rest === undefined) {
        const piece = await source.next(() => memory);
        signal?.throwIfAborted();
        if (piece === undefined) return null;
        if (piece.buffer === memory.buffer) return piece.length;
        rest = piece;
      }
      const length = Math.min(rest.length, memory.length);
      memory.set(rest.subarray(0, length));
      rest = length < rest.length ? rest.subarray(length) : undefined;
      return length;
    },
    close() {
      signal?.removeEventListener("abort", stop);
      source.cancel(new Error("The reader is closed"));
      source.release();
    },
  };
}

/** Writes all bytes of a source. */
async function drain(
  source: JoinedSource,
  writer: ByteWriter,
  options: StoreOptions = {},
): Promise<void> {
  const signals = [options.signal, source.settings.signal].filter((signal) =>
    signal !== undefined
  );
  const signal = signals.length > 0 ? AbortSignal.any(signals) : undefined;
  try {
    signal?.throwIfAborted();
    const { done, settled } = pump({
      read: () => source.next(),
      take: (piece) => piece,
      async write(piece, before) {
        await before;
        await writeAll(writer, piece);
      },
    }, signal);
    settled.then(() => source.release());
    await rejectOnAbort(done, signal);
  } catch (error) {
    source.cancel(error);
    throw error;
  }
}
