import { readStream } from "../stores/capabilities.ts";
import { toStream } from "../stores/stream.ts";
import type { Part } from "./part.ts";
import { assertPartSize } from "./part_size_error.ts";
import { READ_WHOLE, type StoredChunk } from "./stored_chunk.ts";

/**
 * The chunk as a stream. All parts are opened at once, so that one that is
 * missing is an error here and not in the middle of the stream. Small ones are
 * read, and their lengths checked, before the first byte is given out.
 */
export async function streamChunk(
  chunk: StoredChunk,
): Promise<ReadableStream<Uint8Array> | undefined> {
  const opening = chunk.parts.map((part) => openPart(chunk, part));
  try {
    const opened = await Promise.all(opening);
    const readers = await chunk.allOrAbsent(chunk.parts, opened);
    return readers && concatenated(chunk, readers);
  } catch (error) {
    // Whatever is open, or still will be, is let go of.
    for (const part of opening) {
      part.then((reader) => reader?.cancel(error)).catch(() => {});
    }
    throw error;
  }
}

type PartReader = ReadableStreamDefaultReader<Uint8Array>;

async function openPart(
  chunk: StoredChunk,
  part: Part,
): Promise<PartReader | undefined> {
  if (part.size !== undefined && part.size <= READ_WHOLE) {
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
  readers: readonly PartReader[],
  reason: unknown,
): Promise<void> {
  await Promise.allSettled(readers.map((reader) => reader.cancel(reason)));
}
