import { describe } from "../metadata/describe.ts";
import { remove, write } from "../stores/capabilities.ts";
import { type Snapshot, snapshot } from "../stores/snapshot.ts";
import { type Part, storingOrder } from "../splitter/part.ts";
import { splitChunk } from "./split_chunk.ts";
import type { StoredChunk } from "./stored_chunk.ts";

/**
 * Stores a chunk in parts. Nothing is written if the sizes do not allow the length
 * of the chunk, and the chunk is restored if a part cannot be written.
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

/** Removes all parts of a chunk; the chunk is restored if a part cannot be removed. */
export async function deleteChunk(chunk: StoredChunk): Promise<void> {
  await changeParts(
    chunk,
    (part) => remove(chunk.store, chunk.keyOf(part), chunk.options),
  );
}

/** Changes one part after another, and restores all parts if one change fails. */
export async function changeParts(
  chunk: StoredChunk,
  change: (part: Part) => Promise<void>,
): Promise<void> {
  const snapshots = await snapshotParts(chunk);
  const changed: Snapshot[] = [];
  try {
    for (const part of storingOrder(chunk.parts)) {
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

/** Restores all snapshots in order, also if one of them fails, and then throws the first failure. */
async function restoreAll(snapshots: Iterable<Snapshot>): Promise<void> {
  const failures: unknown[] = [];
  for (const snapshot of snapshots) {
    await snapshot.restore().catch((error) => failures.push(error));
  }
  if (failures.length > 0) throw failures[0];
}
