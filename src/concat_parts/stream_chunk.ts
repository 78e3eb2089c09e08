import {
  type ByteSource,
  JoinedSource,
  joinedStream,
  openNative,
  type Part,
  settingsOf,
  sourceOf,
} from "../splitter/mod.ts";
import { readStream, toStream } from "../stores/mod.ts";
import { readChunkSize } from "./read_chunk.ts";
import { READ_WHOLE, type StoredChunk } from "./stored_chunk.ts";

/**
 * Opens a chunk as a stream. All parts are opened at once, so that a missing part
 * is an error here and not in the middle of the stream. Small parts are read and
 * checked before the stream starts.
 */
export function streamChunk(
  chunk: StoredChunk,
): Promise<ReadableStream<Uint8Array> | undefined> {
  return chunk.read(openParts);
}

async function openParts(
  chunk: StoredChunk,
): Promise<ReadableStream<Uint8Array> | undefined> {
  if (chunk.flat.sums.length > 0) await readChunkSize(chunk);
  const opening = chunk.parts.map((part) => openPart(chunk, part));
  try {
    const opened = await Promise.all(opening);
    const sources = await chunk.allOrAbsent(chunk.parts, opened);
    return sources && concatenated(chunk, sources);
  } catch (error) {
    // Close the parts that are open, and those that open later.
    for (const part of opening) {
      part.then((source) => source?.cancel(error)).catch(() => {});
    }
    throw error;
  }
}

async function openPart(
  chunk: StoredChunk,
  part: Part,
): Promise<ByteSource | undefined> {
  if (part.size !== undefined && part.size <= READ_WHOLE) {
    const bytes = await chunk.get(part);
    return bytes && sourceOf(toStream(bytes));
  }
  const key = chunk.keyOf(part);
  const stream = await readStream(chunk.store, key, chunk.options);
  return stream && sourceOf(stream);
}

function concatenated(
  { parts, key, options }: StoredChunk,
  sources: readonly ByteSource[],
): ReadableStream<Uint8Array> {
  const settings = settingsOf(parts, [], { key, signal: options.signal });
  return joinedStream(
    new JoinedSource(settings, openNative, {
      open: (part) => sources[part]!,
      cancel(reason) {
        for (const source of sources) source.cancel(reason);
      },
    }),
  );
}
