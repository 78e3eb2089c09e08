import { ifPresentSync } from "./absence.ts";
import { openFiles } from "./open_files.ts";
import { readOpenFile } from "./read_open_file.ts";
import type { FileSystemRoot } from "./root.ts";
import type {
  ByteRange,
  GetOptions,
  StoreKey,
  StoreOptions,
} from "../store.ts";

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
  return await openFiles.run(1, async () => {
    const file = await openFile(root, key, options);
    if (file === undefined) return undefined;
    try {
      return await readOpenFile(file, key, range, options);
    } finally {
      file.close();
    }
  });
}
