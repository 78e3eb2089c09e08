import { ifPresentSync } from "./absence.ts";
import { stateOfOpen } from "./deno_files.ts";
import type { FoundFile } from "./folders.ts";
import { openFiles } from "./open_files.ts";
import { readOpenFile } from "./read_open_file.ts";
import type { FileSystemRoot } from "./root.ts";
import type {
  ByteRange,
  GetOptions,
  StoreKey,
  StoreOptions,
} from "../store.ts";

/** The number of times that a file is opened if it is replaced each time. */
const MOST_TRIES = 100;

/** The range of a whole value. */
export const WHOLE: ByteRange = { offset: 0, length: Number.MAX_SAFE_INTEGER };

/** Opens the file of a value for reading. */
export async function openFile(
  root: FileSystemRoot,
  key: StoreKey,
  options: StoreOptions,
): Promise<Deno.FsFile | undefined> {
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const value = await root.find(key, options);
    // Synchronous, as `stat` in `FileSystemRoot.find`.
    const file = value && ifPresentSync(() => Deno.openSync(value.path));
    if (file === undefined || value?.leadsTo === undefined) return file;
    if (isStill(value, file)) return file;
  }
  throw new Error(
    `Key ${
      JSON.stringify(key)
    } led to another file each of ${MOST_TRIES} times that it was opened`,
  );
}

/** Whether a key leads to a file that was opened; closes the file if not. */
function isStill({ leadsTo }: FoundFile, file: Deno.FsFile): boolean {
  let isStill = false;
  try {
    isStill = leadsTo!(stateOfOpen(file));
  } finally {
    if (!isStill) file.close();
  }
  return isStill;
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
