import type { ByteReader, ByteWriter } from "./byte_io.ts";
import type { StoreOptions } from "./store.ts";

/** A faster way to read the bytes of a stream, without its chunks. */
export interface Shortcut {
  /** The source of the stream. The caller must close it. */
  readonly reader?: ByteReader;
  /** Writes all bytes of the stream, and leaves the writer open. */
  drain?(writer: ByteWriter, options?: StoreOptions): Promise<void>;
}

const shortcuts = new WeakMap<ReadableStream, Shortcut>();

/** Offers a shortcut for a stream that has not been read. */
export function offerShortcut<S extends ReadableStream<Uint8Array>>(
  stream: S,
  shortcut: Shortcut,
): S {
  shortcuts.set(stream, shortcut);
  return stream;
}

/**
 * Takes a shortcut of a stream that is neither locked nor read from yet, if it has
 * that shortcut. The stream itself is locked then.
 */
export function takeShortcut<W extends keyof Shortcut>(
  stream: ReadableStream<Uint8Array>,
  way: W,
): Shortcut[W] | undefined {
  const shortcut = shortcuts.get(stream)?.[way];
  if (shortcut === undefined || !isUntouched(stream)) return undefined;
  stream.getReader();
  return shortcut;
}

/** Whether a stream is neither locked nor read from. Only `Response` tells: it refuses other streams. */
function isUntouched(stream: ReadableStream<Uint8Array>): boolean {
  try {
    new Response(stream as ReadableStream<Uint8Array<ArrayBuffer>>);
    return true;
  } catch {
    return false;
  }
}
