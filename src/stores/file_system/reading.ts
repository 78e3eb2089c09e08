import { resolveByteRange } from "../byte_range.ts";
import { ifPresentSync } from "./absence.ts";
import type { FileSystemRoot } from "./root.ts";
import { assertSizeLimit } from "../size_limit_error.ts";
import type {
  ByteRange,
  GetOptions,
  StoreKey,
  StoreOptions,
} from "../store.ts";

/** The number of bytes that are read between two checks of the signal. */
const WINDOW = 16 * 1024 * 1024;

/** The range of a whole value. */
export const WHOLE: ByteRange = { offset: 0, length: Number.MAX_SAFE_INTEGER };

/** Opens the file of a value for reading. */
export async function openFile(
  root: FileSystemRoot,
  key: StoreKey,
  options: StoreOptions,
): Promise<Deno.FsFile | undefined> {
  const value = await root.find(key, options);
  // Synchronous, as `stat` in `FileSystemRoot.find`.
  return value && ifPresentSync(() => Deno.openSync(value.path));
}

/** Reads a range of the file of a value, unless the file is longer than `limit`. */
export async function readFileRange(
  root: FileSystemRoot,
  key: StoreKey,
  range: ByteRange,
  options: GetOptions,
): Promise<Uint8Array | undefined> {
  const file = await openFile(root, key, options);
  if (file === undefined) return undefined;
  try {
    return await readRange(file, key, range, options);
  } finally {
    file.close();
  }
}

/** Reads a range of a file that is open. */
export async function readRange(
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
