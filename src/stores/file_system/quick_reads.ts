import type { ByteReader } from "../store.ts";
import type { RuntimeFile } from "./runtime.ts";

/** An open file whose bytes lie in the page cache or on a disk. */
export interface RegularFile extends ByteReader {
  readSync(memory: Uint8Array): number | null;
}

/**
 * Whether a reader is a regular file of Deno. Reading any other file, such as a pipe or a
 * terminal, may wait for another program.
 */
export function isRegularFile(reader: ByteReader): reader is RegularFile {
  const { readSync, statSync } = reader as Partial<RuntimeFile>;
  if (typeof readSync !== "function" || typeof statSync !== "function") {
    return false;
  }
  try {
    return statSync.call(reader).isFile;
  } catch {
    return false; // There is no permission for the real path of the file.
  }
}

/** The most bytes that are read without another thread. */
const SHORT = 256 * 1024;

/**
 * Reads the next bytes of a regular file, until memory is full or the file ends.
 *
 * @returns How many bytes were read; fewer than fit at the end of the file, or once `isOpen`
 * tells that the file was closed in between.
 */
export async function fillFrom(
  file: RegularFile,
  memory: Uint8Array,
  isOpen: () => boolean,
): Promise<number> {
  let filled = 0;
  while (filled < memory.length && isOpen()) {
    const piece = memory.subarray(filled);
    const read = piece.length <= SHORT
      ? file.readSync(piece)
      : await file.read(piece);
    if (read === null) break;
    filled += read;
  }
  return filled;
}
