import type { ByteReader } from "../store.ts";
import type { SystemFile } from "./system.ts";

/** An open file that can also be read at once, without another thread. */
interface SyncFile {
  read(memory: Uint8Array): Promise<number | null>;
  readSync(memory: Uint8Array): number | null;
}

/** An open file whose bytes lie in the page cache or on a disk. */
export interface RegularFile extends ByteReader, SyncFile {}

/**
 * Whether a reader is a regular file of Deno. Reading any other file, such as a pipe or a
 * terminal, may wait for another program.
 */
export function isRegularFile(reader: ByteReader): reader is RegularFile {
  const { readSync, statSync } = reader as Partial<SystemFile>;
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
const SHORT_READ = 256 * 1024;
/** The time in milliseconds from which a read counts as one of the disk, and not of the page cache. */
const SLOW = 1;
/** The most reads that use another thread after slow ones, before one is tried at once again. */
const MOST_READS_AFTER_SLOW = 64;

/** The number of next reads that use another thread. */
let readsOnThreads = 0;
/**
 * The number of reads that use another thread after the next slow one: few at first, since
 * a single slow read may only have waited for a processor.
 */
let readsAfterSlow = 1;

/** Whether memory is short enough to be filled without another thread, and the latest reads were not slow. */
export function isShortRead(memory: Uint8Array): boolean {
  return memory.length <= SHORT_READ && readsOnThreads === 0;
}

/**
 * Reads bytes of a file. Short reads run at once as long as they take no time, since
 * handing them to another thread takes longer than copying from the page cache.
 */
export function readSome(
  file: SyncFile,
  bytes: Uint8Array,
): number | null | Promise<number | null> {
  if (isShortRead(bytes)) return readTimed(file, bytes);
  readsOnThreads = Math.max(readsOnThreads - 1, 0);
  return file.read(bytes);
}

/** Reads bytes at once, and has the next reads use another thread if this one was slow. */
export function readTimed(file: SyncFile, bytes: Uint8Array): number | null {
  const start = performance.now();
  const read = file.readSync(bytes);
  if (performance.now() - start <= SLOW) readsAfterSlow = 1;
  else {
    readsOnThreads = readsAfterSlow;
    readsAfterSlow = Math.min(2 * readsAfterSlow, MOST_READS_AFTER_SLOW);
  }
  return read;
}

/**
 * Reads the next bytes of a regular file, until memory is full or the file ends. Long
 * memory is filled by short reads as long as they take no time.
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
    const most = readsOnThreads === 0 ? filled + SHORT_READ : memory.length;
    const some = readSome(file, memory.subarray(filled, most));
    const read = some instanceof Promise ? await some : some;
    if (read === null) break;
    filled += read;
  }
  return filled;
}
