import type { ByteReader, ByteWriter } from "./byte_io.ts";
import type { StoreOptions } from "./store.ts";

/** A way for the bytes of a stream to go without becoming pieces of a stream. */
export interface Shortcut {
  /** What the stream reads from; to be closed by whoever takes it. */
  readonly reader?: ByteReader;
  /** Writes the rest of the stream, and leaves the writer open. */
  drain?(writer: ByteWriter, options?: StoreOptions): Promise<void>;
}

const shortcuts = new WeakMap<ReadableStream, Shortcut>();

/** Offers a shortcut for a stream that nobody has read yet. */
export function offerShortcut<S extends ReadableStream<Uint8Array>>(
  stream: S,
  shortcut: Shortcut,
): S {
  shortcuts.set(stream, shortcut);
  return stream;
}

/**
 * Takes a shortcut of a stream, if it has that one and nobody reads the stream or
 * has read any of it. The stream itself cannot be used any more.
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

/** Only a response tells: it takes no stream that is locked or of which something was read. */
function isUntouched(stream: ReadableStream<Uint8Array>): boolean {
  try {
    new Response(stream as ReadableStream<Uint8Array<ArrayBuffer>>);
    return true;
  } catch {
    return false;
  }
}
