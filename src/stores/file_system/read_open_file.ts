import { resolveByteRange } from "../byte_range.ts";
import { assertSizeLimit } from "../size_limit_error.ts";
import type { ByteRange, GetOptions, StoreKey } from "../store.ts";

/** The number of bytes that are read between two checks of the signal. */
const WINDOW = 16 * 1024 * 1024;

/** Reads a range of a file that is open. */
export async function readOpenFile(
  file: Deno.FsFile,
  key: StoreKey,
  range: ByteRange,
  options: GetOptions,
): Promise<Uint8Array> {
  // Not `stat`, which needs permission for the real path below a linked root.
  // Synchronous, since seeking reads nothing.
  const size = file.seekSync(0, Deno.SeekMode.End);
  assertSizeLimit(key, options.limit, size);
  const { start, end } = resolveByteRange(range, size);
  file.seekSync(start, Deno.SeekMode.Start);
  const bytes = new Uint8Array(end - start);
  let filled = 0;
  while (filled < bytes.length) {
    options.signal?.throwIfAborted();
    const read = await readSome(file, bytes.subarray(filled, filled + WINDOW));
    if (read === null) {
      throw new Error(
        `Key ${
          JSON.stringify(key)
        } names a file that was cut short while it was read, to ${
          start + filled
        } bytes: expected ${size}`,
      );
    }
    filled += read;
  }
  options.signal?.throwIfAborted();
  return bytes;
}

/** The most bytes that are read without another thread. */
const SHORT = 256 * 1024;
/** The time in milliseconds from which a read counts as one of the disk, and not of the page cache. */
const SLOW = 1;
/** The most reads that use another thread after slow ones, until one is tried without. */
const MOST_READS_AFTER_SLOW = 64;

/** How many of the next reads use another thread. */
let readsOnThreads = 0;
/**
 * How many reads use another thread after the next slow one. A single slow read may only
 * have waited for a processor.
 */
let readsAfterSlow = 1;

/** Whether memory is filled without another thread. */
export function isShortRead(memory: Uint8Array): boolean {
  return memory.length <= SHORT && readsOnThreads === 0;
}

/** Fills memory with bytes of an open file at once. Returns `false` if the file ends before. */
export function readNow(
  file: Deno.FsFile,
  offset: number,
  memory: Uint8Array,
): boolean {
  file.seekSync(offset, Deno.SeekMode.Start);
  for (let filled = 0; filled < memory.length;) {
    const read = readTimed(file, memory.subarray(filled));
    if (read === null) return false;
    filled += read;
  }
  return true;
}

/**
 * Reads bytes of a file. Short reads run at once as long as they take no time, since
 * handing them to another thread takes longer than copying from the page cache.
 */
function readSome(
  file: Deno.FsFile,
  bytes: Uint8Array,
): number | null | Promise<number | null> {
  if (isShortRead(bytes)) return readTimed(file, bytes);
  readsOnThreads = Math.max(readsOnThreads - 1, 0);
  return file.read(bytes);
}

/** Reads bytes at once, and has the next reads use another thread if this one was slow. */
function readTimed(file: Deno.FsFile, bytes: Uint8Array): number | null {
  const start = performance.now();
  const read = file.readSync(bytes);
  if (performance.now() - start <= SLOW) readsAfterSlow = 1;
  else {
    readsOnThreads = readsAfterSlow;
    readsAfterSlow = Math.min(2 * readsAfterSlow, MOST_READS_AFTER_SLOW);
  }
  return read;
}
