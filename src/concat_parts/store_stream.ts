import { write } from "../stores/capabilities.ts";
import type { KeyLocks } from "../stores/key_locks.ts";
import { type ByteSink, sinkOf } from "../splitter/byte_sink.ts";
import { sourceOf } from "../splitter/byte_source.ts";
import type { Part } from "../splitter/part.ts";
import { PartSinks } from "../splitter/part_sinks.ts";
import { openNative } from "../splitter/native_splitter.ts";
import { splitSource } from "../splitter/split_source.ts";
import { changeGroup } from "./change_group.ts";
import { changeParts } from "./change_parts.ts";
import type { StoredChunk } from "./stored_chunk.ts";
import { streamSink } from "./stream_sink.ts";

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
  const { key, options } = chunk;
  options.signal?.throwIfAborted();
  chunk.assertStorable();
  const group = chunk.group();
  if (group?.write === undefined) return await storeParts(chunk, stream, locks);
  await changeGroup(
    group,
    options,
    (writer) =>
      splitInto(
        chunk,
        stream,
        async (part) => sinkOf(await writer.writer(chunk.keyOf(part))),
      ),
    (close) => locks.write(key, close),
  );
}

/** Stores a chunk in a store without groups. */
async function storeParts(
  chunk: StoredChunk,
  stream: ReadableStream<Uint8Array>,
  locks: KeyLocks,
): Promise<void> {
  await splitInto(
    chunk,
    stream,
    (part) => openPart(chunk, part),
    (sinks) =>
      locks.write(chunk.key, () =>
        changeParts(chunk, async (part) => {
          chunk.options.signal?.throwIfAborted();
          await sinks.closePart(part);
        })),
  );
}

async function openPart(chunk: StoredChunk, part: Part): Promise<ByteSink> {
  const { store, options } = chunk;
  const key = chunk.keyOf(part);
  return typeof store.writer === "function"
    ? sinkOf(await store.writer(key, options))
    : streamSink((stream) => write(store, key, stream, options));
}

/**
 * Cuts a stream into the parts of a chunk.
 *
 * @param open Opens the sink of a part.
 * @param store Closes the sinks, once all bytes are written.
 */
export async function splitInto(
  { parts, key, options: { signal } }: StoredChunk,
  stream: ReadableStream<Uint8Array>,
  open: (part: Part) => Promise<ByteSink>,
  store: (sinks: PartSinks) => Promise<void> = (sinks) => sinks.close(),
): Promise<void> {
  const sinks = new PartSinks(parts, open);
  try {
    await splitSource(
      sourceOf(stream),
      parts,
      sinks,
      { key, signal },
      () => openNative,
      () => store(sinks),
    );
  } catch (error) {
    await sinks.settled();
    throw error;
  }
}
