/** The greatest number of files that are open at the same time, unless operations wait for each other. */
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
 * hundred files at the same time. If no operation has ended for a while, the running ones
 * may be waiting for one that has not started, so that the next one starts in any case.
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
      this.#timer ??= setTimeout(() => this.#startNext(), LONGEST_WAIT);
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
        this.#timer = setTimeout(() => this.#startNext(), LONGEST_WAIT);
      }
    };
  }

  /** Starts the next operation after a time without progress. */
  #startNext(): void {
    this.#timer = undefined;
    this.#waiting.shift()?.start();
    if (this.#waiting.length > 0) {
      this.#timer = setTimeout(() => this.#startNext(), LONGEST_WAIT);
    }
  }

  #stopTimer(): void {
    // Deno loads a module of Node for `clearTimeout`.
    if (this.#timer !== undefined) clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}

/** The files that all file stores of this program have open for reading and writing values, except for streams. */
export const openFiles: OpenFiles = /* @__PURE__ */ new OpenFiles();
