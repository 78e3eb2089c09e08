import { readStream } from "../stores/capabilities.ts";
import { toStream } from "../stores/stream.ts";
import type { Part } from "./part.ts";
import { assertPartSize } from "./part_size_error.ts";
import type { StoredChunk } from "./stored_chunk.ts";

/** Up to this size a sized part is read, and checked, before the first byte is given out. */
const READ_AHEAD = 64 * 1024;

/**
 * The chunk as a stream. All parts are opened at once, so that one that is
 * missing is an error here and not in the middle of the stream.
 */
export async function streamChunk(
  chunk: StoredChunk,
): Promise<ReadableStream<Uint8Array> | undefined> {
  const opened = await Promise.allSettled(
    chunk.parts.map((part) => openPart(chunk, part)),
  );
  const streams = opened.map((result) =>
    result.status === "fulfilled" ? result.value : undefined
  );
  try {
    for (const result of opened) {
      if (result.status === "rejected") throw result.reason;
    }
    const parts = await chunk.allOrAbsent(chunk.parts, streams);
    return parts && concatenated(chunk, parts);
  } catch (error) {
    await cancelAll(streams, error);
    throw error;
  }
}

type PartReader = ReadableStreamDefaultReader<Uint8Array>;

async function openPart(
  chunk: StoredChunk,
  part: Part,
): Promise<PartReader | undefined> {
  if (part.size !== undefined && part.size <= READ_AHEAD) {
    const bytes = await chunk.get(part);
    return bytes && toStream(bytes).getReader();
  }
  const stream = await readStream(
    chunk.store,
    chunk.keyOf(part),
    chunk.options,
  );
  return stream?.getReader();
}

function concatenated(
  chunk: StoredChunk,
  readers: readonly PartReader[],
): ReadableStream<Uint8Array> {
  let current = 0; // index of the part being read
  let received = 0; // bytes of it so far
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        while (current < readers.length) {
          chunk.options.signal?.throwIfAborted();
          const part = chunk.parts[current]!;
          const { done, value } = await readers[current]!.read();
          received += value?.length ?? 0;
          if (done || received > (part.size ?? Infinity)) {
            assertPartSize(chunk.keyOf(part), part.size, received);
            received = 0;
            current++;
          } else if (value.length > 0) {
            return controller.enqueue(value);
          }
        }
        controller.close();
      } catch (error) {
        await cancelAll(readers, error);
        throw error;
      }
    },
    cancel: (reason) => cancelAll(readers, reason),
  }, { highWaterMark: 0 });
}

async function cancelAll(
  readers: readonly (PartReader | undefined)[],
  reason: unknown,
): Promise<void> {
  await Promise.allSettled(readers.map((reader) => reader?.cancel(reason)));
}
