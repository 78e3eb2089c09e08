import { remove, write } from "../stores/capabilities.ts";
import { changeGroup } from "./change_group.ts";
import { changeParts } from "./change_parts.ts";
import { splitChunk } from "./split_chunk.ts";
import type { StoredChunk } from "./stored_chunk.ts";

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
