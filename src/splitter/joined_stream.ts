import { rejectOnAbort } from "../stores/abort.ts";
import {
  type ByteReader,
  type ByteWriter,
  writeAll,
} from "../stores/byte_io.ts";
import { offerShortcut } from "../stores/shortcut.ts";
import type { StoreOptions } from "../stores/store.ts";
import type { JoinedSource } from "./joined_source.ts";
import { pump } from "./pump.ts";

/** How much memory parts are read into at once, where they fill memory. */
const PIECE_SIZE = 64 * 1024;

/**
 * A joined chunk as a stream, with shortcuts: a store that takes memory can write the
 * chunk straight from the memory that the parts were read into, and a splitter can have
 * the parts read into its own memory.
 */
export function joinedStream(source: JoinedSource): ReadableStream<Uint8Array> {
  const { signal } = source.settings;
  let stop = () => {};
  function end(): void {
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
        const piece = await source.next(newPiece);
        if (signal?.aborted) return;
        if (piece !== undefined) return controller.enqueue(piece);
        end();
        controller.close();
      } catch (error) {
        fail(error);
        throw error;
      }
    },
    cancel: fail,
  }, { highWaterMark: 0 });
  return offerShortcut(stream, {
    // Where checksums are verified, bytes are held back in the memory that was read into.
    ...!source.settings.hasChecksums && { reader: readerOf(source, stop) },
    drain(writer, options) {
      signal?.removeEventListener("abort", stop);
      return drain(source, writer, options);
    },
  });
}

/** Reads a source into memory of the caller. */
function readerOf(source: JoinedSource, stop: () => void): ByteReader {
  const { signal } = source.settings;
  /** The rest of a piece that lies in memory of its own. */
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

function newPiece(): Uint8Array {
  return new Uint8Array(PIECE_SIZE);
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
