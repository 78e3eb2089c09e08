import { describe } from "../errors/mod.ts";
import { isSameBytes } from "../runtime/mod.ts";
import {
  assertChunkSize,
  type ByteSink,
  chunkSizes,
  openNative,
  type Part,
  PartSinks,
  sinkOf,
  sourceOf,
  splitSource,
} from "../splitter/mod.ts";
import {
  type GroupWriter,
  remove,
  type Store,
  type StoreGroup,
  type StoreKey,
  type StoreOptions,
  write,
} from "../stores/mod.ts";
import type { StoredChunk } from "./stored_chunk.ts";

/** Cuts a chunk into views, one for each part. The key of the chunk is for messages. */
export function splitChunk(
  parts: readonly Part[],
  chunk: Uint8Array,
  key = "",
): Uint8Array[] {
  assertBytes("a chunk", chunk);
  const sizes = chunkSizes(parts);
  assertChunkSize(sizes, key, chunk.length);
  let end = 0;
  return parts.map((part) => {
    const start = end;
    end += part.size ?? chunk.length - sizes.least;
    return chunk.subarray(start, end);
  });
}

/** Throws if a value is not a `Uint8Array`, for callers without type checks. */
export function assertBytes(what: string, value: unknown): void {
  if (value instanceof Uint8Array) return;
  throw new TypeError(
    `Expected ${what} as Uint8Array, found ${describe(value)}`,
  );
}

/**
 * Stores a chunk in parts. Nothing is written if the sizes do not allow the length
 * of the chunk, and a failure leaves the chunk as it was.
 */
export async function writeChunk(
  chunk: StoredChunk,
  bytes: Uint8Array,
): Promise<void> {
  const { parts, store, key, options } = chunk;
  chunk.assertStorable();
  const pieces = splitChunk(parts, bytes, key);
  const group = chunk.group();
  if (group?.write === undefined) {
    return await changeParts(chunk, async (part) => {
      const piece = pieces[parts.indexOf(part)]!;
      await write(store, chunk.keyOf(part), piece, options);
    });
  }
  await changeGroup(group, options, async (writer) => {
    for (const [i, part] of parts.entries()) {
      await writer.set(chunk.keyOf(part), pieces[i]!);
    }
  });
}

/** Removes all parts of a chunk. A failure leaves the chunk as it was. */
export async function deleteChunk(chunk: StoredChunk): Promise<void> {
  const { store, options } = chunk;
  const group = chunk.group();
  if (group?.delete !== undefined) return await group.delete(options);
  await changeParts(
    chunk,
    (part) => remove(store, chunk.keyOf(part), options),
  );
}

/**
 * Replaces the values of a group together. If a value cannot be written, the earlier
 * values are kept.
 *
 * @param write Gives all values to the writer.
 * @param commit Calls the given function, which stores the values.
 */
export async function changeGroup(
  group: StoreGroup,
  options: StoreOptions,
  write: (writer: GroupWriter) => Promise<void>,
  commit: (close: () => Promise<void>) => Promise<void> = (close) => close(),
): Promise<void> {
  const writer = await group.write!(options);
  try {
    await write(writer);
    await commit(() => {
      options.signal?.throwIfAborted();
      return writer.close();
    });
  } catch (error) {
    await writer.abort(error).catch(() => {}); // The first error says more.
    throw error;
  }
}

/**
 * Changes a chunk in a store without groups: one part after another. If a part cannot
 * be changed, all parts are restored from memory.
 */
async function changeParts(
  chunk: StoredChunk,
  change: (part: Part) => Promise<void>,
): Promise<void> {
  const snapshots = await snapshotParts(chunk);
  const changed: Snapshot[] = [];
  try {
    for (const part of chunk.flat.storingOrder) {
      changed.push(snapshots.get(part)!);
      await change(part);
    }
  } catch (error) {
    await restoreAll(changed).catch((undoing) => {
      throw new AggregateError(
        [error, undoing],
        `Chunk ${
          describe(chunk.key)
        } could not be changed, and could not be restored either: its parts may belong to different writes`,
      );
    });
    throw error;
  }
}

async function snapshotParts(
  chunk: StoredChunk,
): Promise<Map<Part, Snapshot>> {
  const snapshots = new Map<Part, Snapshot>();
  const taken = await Promise.allSettled(chunk.parts.map(async (part) => {
    const key = chunk.keyOf(part);
    snapshots.set(part, await snapshot(chunk.store, key, chunk.options));
  }));
  const failed = taken.find((result) => result.status === "rejected");
  if (failed === undefined) return snapshots;
  throw failed.reason;
}

/** The value that a key had, or its absence. */
interface Snapshot {
  /** Stores the kept value again, or removes the value if there was none. */
  restore(): Promise<void>;
}

/** Keeps the value of a key in memory, so that a failed write of several keys can be undone. */
export async function snapshot(
  store: Store,
  key: StoreKey,
  options: StoreOptions = {},
): Promise<Snapshot> {
  options.signal?.throwIfAborted();
  const kept = await store.get(key, options);
  return {
    async restore() {
      // An unchanged value need not be written, and the store may be unable to.
      // Some stores refuse to delete an absent value, such as zarrita's for files.
      const present = await store.get(key);
      if (kept === undefined && present !== undefined) await remove(store, key);
      if (kept !== undefined && !isSameBytes(kept, present)) {
        await write(store, key, kept);
      }
    },
  };
}

/** Restores all snapshots in order, also if one of them fails, and then throws the first failure. */
async function restoreAll(snapshots: Iterable<Snapshot>): Promise<void> {
  const failures: unknown[] = [];
  for (const snapshot of snapshots) {
    await snapshot.restore().catch((error) => failures.push(error));
  }
  if (failures.length > 0) throw failures[0];
}

/** Runs a task under the lock of a chunk. */
type WriteLock = (task: () => Promise<void>) => Promise<void>;

/**
 * Stores a chunk that comes as a stream. All bytes are written before the first part
 * replaces an earlier one. The chunk is locked only while parts are replaced, so that the
 * stream may read the earlier chunk.
 *
 * @param lock Runs the replacement under the lock of the chunk.
 */
export async function storeStream(
  chunk: StoredChunk,
  stream: ReadableStream<Uint8Array>,
  lock: WriteLock,
): Promise<void> {
  const { options } = chunk;
  options.signal?.throwIfAborted();
  chunk.assertStorable();
  const group = chunk.group();
  if (group?.write === undefined) return await storeParts(chunk, stream, lock);
  await changeGroup(
    group,
    options,
    (writer) =>
      splitInto(
        chunk,
        stream,
        async (part) => sinkOf(await writer.writer(chunk.keyOf(part))),
      ),
    lock,
  );
}

/** Stores a chunk in a store without groups. */
async function storeParts(
  chunk: StoredChunk,
  stream: ReadableStream<Uint8Array>,
  lock: WriteLock,
): Promise<void> {
  await splitInto(
    chunk,
    stream,
    (part) => openPart(chunk, part),
    (sinks) =>
      lock(() =>
        changeParts(chunk, async (part) => {
          chunk.options.signal?.throwIfAborted();
          await sinks.closePart(part);
        })
      ),
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

/** Returns a sink whose bytes `take` reads from a stream. Closing the sink waits for `take`, and fails if `take` fails. */
export function streamSink(
  take: (stream: ReadableStream<Uint8Array>) => Promise<void>,
): ByteSink {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const sink = sinkOf(writable);
  const taken = take(readable);
  taken.catch((error) => sink.abort(error));
  /** Rejects with the error of `take`, if the stream fails because `take` failed. */
  const withItsError = async (failing: Promise<void>) => {
    try {
      await failing;
    } catch (error) {
      await taken;
      throw error;
    }
  };
  const failure = withItsError(sink.failure!);
  failure.catch(() => {});
  return {
    failure,
    write: (bytes, isLent) => withItsError(sink.write(bytes, isLent)),
    async close() {
      await withItsError(sink.close());
      await taken;
    },
    async abort(reason) {
      await sink.abort(reason);
      await taken.catch(() => {});
    },
  };
}
