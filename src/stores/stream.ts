import { copyBytes } from "./copy_bytes.ts";
import { describeValue } from "./describe_value.ts";
import { toArrayBuffer } from "@std/streams/to-array-buffer";
import type { StoreOptions } from "./store.ts";

/** The chunk size of {@linkcode toStream} in bytes. */
const WINDOW = 64 * 1024;

/** Refuses a value that is neither bytes nor a stream, such as an `ArrayBuffer`. */
export function assertValue(value: unknown): void {
  if (value instanceof Uint8Array || isStream(value)) return;
  throw new TypeError(
    `Expected a value to be a Uint8Array or a ReadableStream, found ${
      describeValue(value)
    }`,
  );
}

/** Reads all bytes of a stream. */
export async function toBytes(
  stream: ReadableStream<Uint8Array>,
  options: StoreOptions = {},
): Promise<Uint8Array> {
  assertValue(stream);
  return new Uint8Array(
    await toArrayBuffer(abortable(stream, options.signal)),
  );
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

/** Cancels a value that will not be stored, so that the writer of the stream does not wait for ever. */
export async function discard(
  value: Uint8Array | ReadableStream<Uint8Array>,
  reason: unknown,
): Promise<void> {
  // A locked or broken stream cannot be cancelled, and need not be.
  if (isStream(value)) await value.cancel(reason).catch(() => {});
}

/** Checks for a method, since a stream may be that of another realm or a polyfill. */
function isStream(value: unknown): value is ReadableStream<Uint8Array> {
  return typeof (value as ReadableStream | undefined)?.getReader === "function";
}
