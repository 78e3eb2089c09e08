import { crc32c } from "../../checksum/crc32c.ts";
import { joinBytes } from "../../stores/join_bytes.ts";
import type { ChunkFiles } from "./array.ts";
import type { InPlaceRun, RecordedChunk } from "./run.ts";
import { hiddenKey } from "./state.ts";

/** The bytes of a chunk that move between its files: those that are cut off, or appended. */
export async function readMoved(
  run: InPlaceRun,
  { data, tail }: ChunkFiles,
): Promise<Uint8Array> {
  if (data === undefined) return new Uint8Array();
  const { from, old, new: length } = data;
  const count = Math.abs(length - old);
  const moved = length < old
    ? await run.files.read(from, length, count)
    : await readTail(run, tail, count);
  if (moved?.length === count) return moved;
  throw run.changed(from);
}

/** The first bytes behind the unsized part. */
async function readTail(
  { files }: InPlaceRun,
  tail: ChunkFiles["tail"],
  count: number,
): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for (const key of tail) {
    const part = await files.read(key, 0) ??
      await files.read(hiddenKey(key), 0);
    if (part !== undefined) parts.push(part);
  }
  return joinBytes(parts).subarray(0, count);
}

/** Reads the bytes that move once more, and refuses others than those that were recorded. */
export async function readRecorded(
  run: InPlaceRun,
  { files, checksum }: RecordedChunk,
): Promise<Uint8Array> {
  const moved = await readMoved(run, files);
  if (crc32c(moved) === checksum) return moved;
  throw run.changed(files.data!.from);
}
