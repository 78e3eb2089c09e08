import { copyBytes } from "./copy_bytes.ts";
import { assertValue } from "./given_value.ts";
import { toArrayBuffer } from "@std/streams/to-array-buffer";
import type { StoreOptions } from "./store.ts";

/** The chunk size of {@linkcode toStream} in bytes. */
const WINDOW = 64 * 1024;

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
