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
    const read = await file.read(bytes.subarray(filled, filled + WINDOW));
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
