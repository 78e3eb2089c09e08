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
 * Stores a chunk that comes as a stream. All bytes are written before the first
 * part replaces an earlier one. The chunk is only locked for the replacement, so
 * that it may be the source of its own stream.
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
  /** Rejects with the error of the store, if the stream fails because the store failed. */
  const withStoreError = async (failing: Promise<void>) => {
    try {
      await failing;
    } catch (error) {
      await stored;
      throw error;
    }
  };
  const failure = withStoreError(sink.failure!);
  failure.catch(() => {});
  return {
    failure,
    write: (bytes, isLent) => withStoreError(sink.write(bytes, isLent)),
    async close() {
      await withStoreError(sink.close());
      await stored;
    },
    async abort(reason) {
      await sink.abort(reason);
      await stored.catch(() => {});
    },
  };
}
