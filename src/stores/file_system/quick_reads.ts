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

/** The time in milliseconds from which a step counts as one that waits for the disk. */
const SLOW = 1;
/** The most steps that use another thread after slow ones, before one is tried at once again. */
const MOST_AFTER_SLOW = 64;
/** The number of steps at once after which one uses another thread, so that timers and messages are not held up. */
const MOST_AT_ONCE = 256;

/**
 * Chooses for steps of one kind whether they run at once: as long as they take no time, since
 * handing a step to another thread takes longer than an answer from the memory of the
 * operating system.
 */
export class QuickSteps {
  /** The number of next steps that use another thread. */
  #onThreads = 0;
  /**
   * The number of steps that use another thread after the next slow one: few at first, since
   * a single slow step may only have waited for a processor.
   */
  #afterSlow = 1;
  #atOnce = 0;

  /** Whether the latest steps were not slow. */
  get areQuick(): boolean {
    return this.#onThreads === 0;
  }

  /** Takes a step: by `now` at once, or by `later` on another thread. */
  run<T>(now: () => T, later: () => Promise<T>): T | Promise<T> {
    if (this.#onThreads === 0 && this.#atOnce < MOST_AT_ONCE) {
      this.#atOnce++;
      return this.timed(now);
    }
    return this.later(later);
  }

  /** Takes a step on another thread. */
  later<T>(step: () => Promise<T>): Promise<T> {
    this.#onThreads = Math.max(this.#onThreads - 1, 0);
    this.#atOnce = 0;
    return step();
  }

  /** Takes a step at once, and has the next steps use another thread if this one was slow. */
  timed<T>(step: () => T): T {
    const start = performance.now();
    try {
      return step();
    } finally {
      if (performance.now() - start <= SLOW) this.#afterSlow = 1;
      else {
        this.#onThreads = this.#afterSlow;
        this.#afterSlow = Math.min(2 * this.#afterSlow, MOST_AFTER_SLOW);
      }
    }
  }
}

/** Reads from files, by all stores of this program. */
const reads = /* @__PURE__ */ new QuickSteps();

/** The most bytes that are read without another thread. */
const SHORT_READ = 256 * 1024;

/** The most bytes that are read between two checks of the signal. */
const WINDOW = 16 * 1024 * 1024;

/** Whether memory is short enough to be filled without another thread, and the latest reads were not slow. */
export function isShortRead(memory: Uint8Array): boolean {
  return memory.length <= SHORT_READ && reads.areQuick;
}

/**
 * Reads bytes of a file. Short reads run at once as long as they take no time, since
 * handing them to another thread takes longer than copying from the page cache.
 */
export function readSome(
  file: SyncFile,
  bytes: Uint8Array,
): number | null | Promise<number | null> {
  const later = () => file.read(bytes);
  return bytes.length <= SHORT_READ
    ? reads.run(() => file.readSync(bytes), later)
    : reads.later(later);
}

/** The longest memory that is filled by several short reads, in bytes. */
const LONGEST_AT_ONCE = 1024 * 1024;

/** The next piece of memory to fill: short as long as that takes no time, unless the memory is long. */
export function nextPiece(memory: Uint8Array, filled: number): Uint8Array {
  const isShort = memory.length <= LONGEST_AT_ONCE && reads.areQuick;
  return memory.subarray(filled, filled + (isShort ? SHORT_READ : WINDOW));
}

/** Reads bytes at once, and has the next reads use another thread if this one was slow. */
export function readTimed(file: SyncFile, bytes: Uint8Array): number | null {
  return reads.timed(() => file.readSync(bytes));
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
    const most = reads.areQuick ? filled + SHORT_READ : memory.length;
    const some = readSome(file, memory.subarray(filled, most));
    const read = some instanceof Promise ? await some : some;
    if (read === null) break;
    filled += read;
  }
  return filled;
}
