import { write } from "../stores/capabilities.ts";
import { type ByteSink, sinkOf } from "../splitter/byte_sink.ts";
import { sourceOf } from "../splitter/byte_source.ts";
import { changeParts } from "./change_parts.ts";
import type { KeyLocks } from "../stores/key_locks.ts";
import type { Part } from "../splitter/part.ts";
import { PartSinks } from "../splitter/part_sinks.ts";
import { openNative } from "../splitter/native_splitter.ts";
import { splitSource } from "../splitter/split_source.ts";
import type { StoredChunk } from "./stored_chunk.ts";

/**
 * Stores a chunk that comes as a stream. All of it is written before the first
 * part takes the place of an earlier one: only that keeps others from the chunk,
 * which may be where the stream comes from.
 */
export async function storeStream(
  chunk: StoredChunk,
  stream: ReadableStream<Uint8Array>,
  locks: KeyLocks,
): Promise<void> {
  const { parts, key, options: { signal } } = chunk;
  const sinks = new PartSinks(parts, (part) => openPart(chunk, part));
  const storeParts = () =>
    changeParts(chunk, async (part) => {
      signal?.throwIfAborted();
      await sinks.closePart(part);
    });
  try {
    await splitSource(
      sourceOf(stream),
      parts,
      sinks,
      { key, signal },
      () => openNative,
      () => locks.write(key, storeParts),
    );
  } catch (error) {
    await sinks.settled();
    throw error;
  }
}

async function openPart(chunk: StoredChunk, part: Part): Promise<ByteSink> {
  const { store, options } = chunk;
  const key = chunk.keyOf(part);
  if (typeof store.writer === "function") {
    return sinkOf(await store.writer(key, options));
  }
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const sink = sinkOf(writable);
  const stored = write(store, key, readable, options);
  stored.catch((error) => sink.abort(error));
  /** What the store says of a failure is what there is to say; the stream was only let go of. */
  const told = async (failing: Promise<void>) => {
    try {
      await failing;
    } catch (error) {
      await stored;
      throw error;
    }
  };
  const failure = told(sink.failure!);
  failure.catch(() => {});
  return {
    failure,
    write: (bytes, isLent) => told(sink.write(bytes, isLent)),
    async close() {
      await told(sink.close());
      await stored;
    },
    async abort(reason) {
      await sink.abort(reason);
      await stored.catch(() => {});
    },
  };
}
