import { rejectOnAbort } from "../stores/abort.ts";
import { type ByteWriter, writeAll } from "../stores/byte_io.ts";
import { offerShortcut } from "../stores/shortcut.ts";
import type { StoreOptions } from "../stores/store.ts";
import type { JoinedSource } from "./joined_source.ts";
import { pump } from "./pump.ts";

/** How much memory parts are read into at once, where they fill memory. */
const PIECE_SIZE = 64 * 1024;

/**
 * A joined chunk as a stream, which a store that takes memory can write by a
 * shortcut: straight from the memory that the parts were read into.
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
    drain(writer, options) {
      signal?.removeEventListener("abort", stop);
      return drain(source, writer, options);
    },
  });
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
