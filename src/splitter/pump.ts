import type { Windows } from "../checksum/windows.ts";
import type { ByteSource } from "./byte_source.ts";

/**
 * Takes charge of a piece. What it does at once is done in the order of the
 * pieces; for the rest it waits for `before`, the end of the piece before.
 *
 * @param isLent Whether the bytes may change once the promise has settled.
 */
export type Handler = (
  piece: Uint8Array,
  isLent: boolean,
  before: Promise<void>,
) => Promise<void>;

/**
 * Passes all pieces of a source on. While one is waited for, the one before is
 * handled and may still wait for the end of another.
 */
export async function pump(
  source: ByteSource,
  windows: Windows,
  handle: Handler,
  signal: AbortSignal | undefined,
): Promise<void> {
  let turn = 0;
  let usesWindows = false;
  let reading = read();
  let before = Promise.resolve();
  let handling = before;
  try {
    while (true) {
      // What fails while the source stalls is not waited for.
      const piece = await Promise.race([
        reading,
        handling.then(() => reading),
      ]);
      // A source that was cancelled looks as if it had ended.
      signal?.throwIfAborted();
      if (piece === undefined) break;
      reading = read();
      const isLent = usesWindows &&
        windows.buffers.some(({ buffer }) => buffer === piece.buffer);
      before = handling;
      handling = quiet(handle(piece, isLent, before));
      await before;
    }
    await handling;
  } finally {
    // Where this fails, others may be at work in the windows yet.
    Promise.allSettled([reading, before, handling])
      .then(() => windows.release());
  }

  function read(): Promise<Uint8Array | undefined> {
    const now = turn++;
    return quiet(source.next(() => {
      usesWindows = true;
      return windows.buffers[now % windows.buffers.length]!;
    }));
  }
}

/** A promise that is looked at later, and maybe never. */
function quiet<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}
