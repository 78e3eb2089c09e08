import { describe } from "../metadata/describe.ts";
import { type Snapshot, snapshot } from "../stores/snapshot.ts";
import type { Part } from "../splitter/part.ts";
import type { StoredChunk } from "./stored_chunk.ts";

/**
 * Changes a chunk in a store without groups: one part after another. If a part cannot
 * be changed, all parts are restored from memory.
 */
export async function changeParts(
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

/** Restores all snapshots in order, also if one of them fails, and then throws the first failure. */
async function restoreAll(snapshots: Iterable<Snapshot>): Promise<void> {
  const failures: unknown[] = [];
  for (const snapshot of snapshots) {
    await snapshot.restore().catch((error) => failures.push(error));
  }
  if (failures.length > 0) throw failures[0];
}
