import { describeValue } from "./describe_value.ts";

/** Refuses a value that is neither bytes nor a stream, such as an `ArrayBuffer`. */
export function assertValue(value: unknown): void {
  if (value instanceof Uint8Array || isStream(value)) return;
  throw new TypeError(
    `Expected a value to be a Uint8Array or a ReadableStream, found ${
      describeValue(value)
    }`,
  );
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
