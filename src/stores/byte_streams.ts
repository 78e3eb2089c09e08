import { describeValue } from "../errors/mod.ts";
import { copyBytes } from "../runtime/mod.ts";
import type {
  ByteRange,
  ByteReader,
  ByteWriter,
  StoreKey,
  StoreOptions,
} from "./store.ts";

/** The chunk size of {@linkcode toStream} in bytes. */
const WINDOW = 64 * 1024;

/** Reads all bytes of a stream. */
export async function toBytes(
  stream: ReadableStream<Uint8Array>,
  options: StoreOptions = {},
): Promise<Uint8Array> {
  assertValue(stream);
  const body = new Response(abortable(stream, options.signal));
  return new Uint8Array(await body.arrayBuffer());
}

/** Makes a stream of copies, which its reader may change. */
export function toStream(bytes: Uint8Array): ReadableStream<Uint8Array> {
  let offset = 0;
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      if (offset < bytes.length) {
        controller.enqueue(copyBytes(bytes, offset, offset += WINDOW));
      }
      if (offset >= bytes.length) controller.close();
    },
  }, { highWaterMark: 0 });
}

/** Makes a stream fail with the reason of a signal, and cancels its source, once the signal aborts. */
export function abortable(
  stream: ReadableStream<Uint8Array>,
  signal: AbortSignal | undefined,
): ReadableStream<Uint8Array> {
  return signal === undefined
    ? stream
    : stream.pipeThrough(new TransformStream(), { signal });
}

/**
 * Passes on a range of a stream. Only a range with `suffixLength` is buffered, and
 * not more than the suffix. The source is cancelled once the range is complete.
 */
export function rangeStream(
  range: ByteRange,
): TransformStream<Uint8Array, Uint8Array> {
  return new TransformStream(
    "suffixLength" in range
      ? suffix(range.suffixLength)
      : slice(range.offset, range.length),
  );
}

function slice(
  offset: number,
  length: number,
): Transformer<Uint8Array, Uint8Array> {
  let skip = offset;
  let rest = length;
  return {
    transform(chunk, controller) {
      const piece = chunk.subarray(skip, skip + rest);
      skip = Math.max(0, skip - chunk.length);
      rest -= piece.length;
      if (piece.length > 0) controller.enqueue(piece);
      if (rest === 0) controller.terminate();
    },
  };
}

function suffix(length: number): Transformer<Uint8Array, Uint8Array> {
  const kept: Uint8Array[] = [];
  let size = 0;
  return {
    transform(chunk) {
      kept.push(chunk);
      size += chunk.length;
      for (let first = kept[0]; first; first = kept[0]) {
        if (size - first.length < length) break;
        size -= first.length;
        kept.shift();
      }
    },
    flush(controller) {
      let skip = Math.max(0, size - length);
      for (const chunk of kept) {
        controller.enqueue(chunk.subarray(skip));
        skip = 0;
      }
    },
  };
}

/** A faster way to read the bytes of a stream, without its chunks. */
interface Shortcut {
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
 * Takes a shortcut of a stream, which is locked from then on. Returns `undefined` if the
 * stream does not have the shortcut, is locked, or was read from.
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

/** Whether a stream is neither locked nor read from. Only the constructor of `Response` tells: it refuses other streams. */
function isUntouched(stream: ReadableStream<Uint8Array>): boolean {
  try {
    new Response(stream as ReadableStream<Uint8Array<ArrayBuffer>>);
    return true;
  } catch {
    return false;
  }
}

/** Refuses to commit values of which one is not complete. */
export function assertComplete(
  keys: readonly StoreKey[],
  isComplete: (key: StoreKey) => boolean,
): void {
  const missing = keys.filter((key) => !isComplete(key));
  if (missing.length === 0) return;
  throw new TypeError(
    `Expected a value for each of ${JSON.stringify(keys)}, found none for ${
      JSON.stringify(missing)
    }`,
  );
}

/** Refuses a value that is neither bytes nor a stream, such as an `ArrayBuffer`. */
export function assertValue(value: unknown): void {
  if (value instanceof Uint8Array || isStream(value)) return;
  throw new TypeError(
    `Expected a value to be a Uint8Array or a ReadableStream, found ${
      describeValue(value)
    }`,
  );
}

/** Cancels a stream that will not be stored, so that its writer does not wait for ever. */
export async function discard(
  value: Uint8Array | ReadableStream<Uint8Array>,
  reason: unknown,
): Promise<void> {
  // A locked or broken stream cannot be cancelled, and need not be.
  if (isStream(value)) await value.cancel(reason).catch(() => {});
}

/** Whether a value is a stream, by a method, since streams may come from another realm or a polyfill. */
function isStream(value: unknown): value is ReadableStream<Uint8Array> {
  return typeof (value as ReadableStream | undefined)?.getReader === "function";
}

/** Refuses a piece of a stream that is no `Uint8Array`. */
export function assertPiece(piece: unknown): void {
  if (piece instanceof Uint8Array) return;
  throw new TypeError(
    `Expected a stream of Uint8Array, found ${describeValue(piece)} in it`,
  );
}
