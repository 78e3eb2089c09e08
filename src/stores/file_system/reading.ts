import type {
  ByteRange,
  GetOptions,
  StoreKey,
  StoreOptions,
} from "../store.ts";
import { isTemporary, keyProblem, splitPath } from "../store_key.ts";
import { readOpenFile, stateOfOpen } from "./deno_files.ts";
import { type FoundFile, ifPresent, ifPresentSync } from "./files.ts";
import { below, type FileSystemRoot } from "./root.ts";

/** How many files are open at the same time, unless operations wait for each other. */
const MOST_OPEN = 128;
/** How long operations wait without any progress, in milliseconds. */
const LONGEST_WAIT = 500;

/** An operation that waits until it may open files. */
interface Waiting {
  readonly count: number;
  start(): void;
}

/**
 * Lets operations wait until fewer files are open, since a process may open some
 * hundred files at the same time. If no operation has ended for a while, those that run
 * may wait for one that has not started, so the next one starts in any case.
 */
export class OpenFiles {
  readonly #most: number;
  readonly #waiting: Waiting[] = [];
  #open = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(most: number = MOST_OPEN) {
    this.#most = most;
  }

  /**
   * Runs a task that opens files and closes them.
   *
   * @param count The greatest number of files that the task has open.
   */
  async run<T>(count: number, task: () => Promise<T>): Promise<T> {
    const taken = this.take(count);
    const release = taken instanceof Promise ? await taken : taken;
    try {
      return await task();
    } finally {
      release();
    }
  }

  /** Waits until files may be opened. Returns a function to be called once they are closed. */
  take(count: number): (() => void) | Promise<() => void> {
    if (this.#waiting.length === 0 && this.#hasRoom(count)) {
      return this.#start(count);
    }
    return new Promise((resolve) => {
      this.#waiting.push({ count, start: () => resolve(this.#start(count)) });
      this.#timer ??= setTimeout(() => this.#goOn(), LONGEST_WAIT);
    });
  }

  #hasRoom(count: number): boolean {
    return this.#open === 0 || this.#open + count <= this.#most;
  }

  #start(count: number): () => void {
    this.#open += count;
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      this.#open -= count;
      this.#stopTimer();
      while (
        this.#waiting.length > 0 && this.#hasRoom(this.#waiting[0]!.count)
      ) {
        this.#waiting.shift()!.start();
      }
      if (this.#waiting.length > 0) {
        this.#timer = setTimeout(() => this.#goOn(), LONGEST_WAIT);
      }
    };
  }

  /** Starts the next operation after a time without progress. */
  #goOn(): void {
    this.#timer = undefined;
    this.#waiting.shift()?.start();
    if (this.#waiting.length > 0) {
      this.#timer = setTimeout(() => this.#goOn(), LONGEST_WAIT);
    }
  }

  #stopTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}

/** The files that all file stores of this program have open for reading and writing values, except for streams. */
export const openFiles: OpenFiles = /* @__PURE__ */ new OpenFiles();

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
    const entries = await ifPresent(() => Array.fromAsync(Deno.readDir(path)));
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
    const here = [...from, await Deno.realPath(path)];
    const target = await Deno.realPath(linked);
    const isCircle = here.some((folder) => below(target, folder) !== undefined);
    if (!isCircle) yield* walk(linked, key, here);
  }
}
