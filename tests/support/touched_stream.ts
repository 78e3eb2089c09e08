/**
 * Uses of a stream before it is passed on. Each returns the number of bytes that it
 * consumed, or `Infinity` for all.
 */
export const TOUCHES: Record<
  string,
  (stream: ReadableStream<Uint8Array>) => Promise<number>
> = {
  "read in part": async (stream) => {
    const reader = stream.getReader();
    const { value } = await reader.read();
    reader.releaseLock();
    return value!.length;
  },
  "let go of while it was read": async (stream) => {
    const reader = stream.getReader();
    const reading = reader.read();
    reader.releaseLock();
    await Promise.allSettled([reading]);
    return 0;
  },
  "read to its end": async (stream) => {
    for await (const _ of stream.values({ preventCancel: true }));
    return Infinity;
  },
  "cancelled": async (stream) => {
    await stream.cancel();
    return Infinity;
  },
};
