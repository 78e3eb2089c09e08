import { snapshot, write } from "../stores/capabilities.ts";
import type { StoreSnapshot } from "../stores/store.ts";
import type { Part } from "./part.ts";
import { splitChunk } from "./split_chunk.ts";
import type { StoredChunk } from "./stored_chunk.ts";

/**
 * Stores a chunk in parts: what does not fit their sizes writes nothing, and a
 * part that cannot be written leaves the chunk as it was.
 */
export async function writeChunk(
  chunk: StoredChunk,
  bytes: Uint8Array,
): Promise<void> {
  const pieces = splitChunk(chunk.parts, bytes, chunk.key);
  await changeParts(chunk, async (part) => {
    const piece = pieces[chunk.parts.indexOf(part)]!;
    await write(chunk.store, chunk.keyOf(part), piece, chunk.options);
  });
}

/** Removes all parts of a chunk, or none. */
export async function deleteChunk(chunk: StoredChunk): Promise<void> {
  await changeParts(
    chunk,
    async (part) => {
      await chunk.store.delete!(chunk.keyOf(part), chunk.options);
    },
  );
}

/** Keeps the present values of all parts of a chunk. */
export async function snapshotChunk(
  chunk: StoredChunk,
): Promise<StoreSnapshot> {
  const taken = await Promise.allSettled(
    chunk.parts.map((part) =>
      snapshot(chunk.store, chunk.keyOf(part), chunk.options)
    ),
  );
  const snapshots = taken.flatMap((result) =>
    result.status === "fulfilled" ? [result.value] : []
  );
  const kept: StoreSnapshot = {
    async restore() {
      await forAll(snapshots, (snapshot) => snapshot.restore());
    },
    async release() {
      await forAll(snapshots, (snapshot) => snapshot.release());
    },
  };
  const failed = taken.find((result) => result.status === "rejected");
  if (failed === undefined) return kept;
  await kept.release();
  throw failed.reason;
}

async function changeParts(
  chunk: StoredChunk,
  change: (part: Part) => Promise<void>,
): Promise<void> {
  const before = await snapshotChunk(chunk);
  try {
    // The unsized part, then head parts and tail parts.
    const unsized = chunk.parts.filter((part) => part.size === undefined);
    const sized = chunk.parts.filter((part) => part.size !== undefined);
    for (const part of [...unsized, ...sized]) await change(part);
  } catch (error) {
    await before.restore().catch((undoing) => {
      throw new AggregateError(
        [error, undoing],
        `Chunk ${
          JSON.stringify(chunk.key)
        } could not be changed, and not be put back as it was either: its parts may not belong together`,
      );
    });
    throw error;
  } finally {
    await before.release();
  }
}

/** Runs a task for every snapshot, also when one of them fails. */
async function forAll(
  snapshots: readonly StoreSnapshot[],
  task: (snapshot: StoreSnapshot) => Promise<void>,
): Promise<void> {
  const results = await Promise.allSettled(snapshots.map(task));
  const failures = results.flatMap((result) =>
    result.status === "rejected" ? [result.reason] : []
  );
  if (failures.length === 1) throw failures[0];
  if (failures.length > 1) {
    throw new AggregateError(failures, "Several parts could not be put back");
  }
}
