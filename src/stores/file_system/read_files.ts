import type {
  ByteRange,
  GetOptions,
  StoreKey,
  StoreOptions,
} from "../store.ts";
import { isTemporary, keyProblem, splitPath } from "../store_key.ts";
import { readOpenFile, stateOfOpen } from "./system_files.ts";
import {
  entriesOf,
  fileSystem,
  type FoundFile,
  ifPresentSync,
} from "./files.ts";
import { openFiles } from "./open_files.ts";
import { below, type FileSystemRoot } from "./root.ts";
import type { SystemFile } from "./system.ts";

/** The number of times that a file is opened if it is replaced each time. */
const MOST_TRIES = 100;

/** The range of a whole value. */
export const WHOLE: ByteRange = { offset: 0, length: Number.MAX_SAFE_INTEGER };

/** Opens the file of a value for reading. */
export async function openFile(
  root: FileSystemRoot,
  key: StoreKey,
  options: StoreOptions,
): Promise<SystemFile | undefined> {
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const value = await root.find(key, options);
    // Synchronous, since `find` has just looked the path up.
    const file = value &&
      ifPresentSync(() => fileSystem().openSync(value.path));
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
function isStill({ leadsTo }: FoundFile, file: SystemFile): boolean {
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

/**
 * Lists the keys of the files below a root, from the deepest folder that the prefix
 * names. Linked folders outside of the root are walked, if they may be read.
 */
export async function* listFiles(
  root: FileSystemRoot,
  prefix: StoreKey,
  options: StoreOptions,
): AsyncIterable<StoreKey> {
  options.signal?.throwIfAborted();
  await root.assertFolder();
  const { folder } = splitPath(prefix);
  const path = await root.locate(folder);
  if (path !== undefined) yield* walk(path, folder, []);

  /** @param from The real paths of the folders whose links led here. */
  async function* walk(
    path: string,
    folder: string,
    from: readonly string[],
  ): AsyncIterable<StoreKey> {
    options.signal?.throwIfAborted();
    const entries = await entriesOf(path);
    for (const { name, isDirectory, isFile } of entries ?? []) {
      const key: StoreKey = `${folder as StoreKey}/${name}`;
      if (!key.startsWith(prefix) || isTemporary(name)) continue;
      if (keyProblem(name) !== undefined) continue;
      if (isDirectory) {
        yield* walk(`${path}/${name}`, key, from);
      } else if (isFile || await root.find(key).catch(() => undefined)) {
        yield key;
      } else {
        const linked = await root.linkedFolder(key);
        if (linked !== undefined) yield* walkLinked(path, linked, key, from);
      }
      options.signal?.throwIfAborted();
    }
  }

  /** Walks a linked folder, unless the link leads back to a folder that is being walked. */
  async function* walkLinked(
    path: string,
    linked: string,
    key: StoreKey,
    from: readonly string[],
  ): AsyncIterable<StoreKey> {
    const here = [...from, await fileSystem().realPath(path)];
    const target = await fileSystem().realPath(linked);
    const isCircle = here.some((folder) => below(target, folder) !== undefined);
    if (!isCircle) yield* walk(linked, key, here);
  }
}
