/** The greatest number of files that are open at the same time, unless operations wait for each other. */
const MOST_OPEN = 128;
/** How long operations wait without any progress, in milliseconds. */
const LONGEST_WAIT = 500;

/** An operation that waits until it may open files. */
interface Waiting {
  readonly count: number;
  start(release: () => void): void;
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

  /** Waits until some files may be opened. Returns a function to be called once they are closed. */
  take(count: number): (() => void) | Promise<() => void> {
    if (this.#waiting.length === 0 && this.#hasRoom(count)) {
      return this.#start(count);
    }
    return new Promise((start) => {
      this.#waiting.push({ count, start });
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
      // Deno loads a module of Node for `clearTimeout`.
      if (this.#timer !== undefined) clearTimeout(this.#timer);
      this.#timer = undefined;
      while (this.#waiting[0] && this.#hasRoom(this.#waiting[0].count)) {
        const { count, start } = this.#waiting.shift()!;
        start(this.#start(count));
      }
      this.#watch();
    };
  }

  /** Starts the next operation after a time without progress. */
  #startNext(): void {
    const next = this.#waiting.shift();
    next?.start(this.#start(next.count));
    this.#timer = undefined;
    this.#watch();
  }

  #watch(): void {
    if (this.#waiting.length === 0) return;
    this.#timer = setTimeout(() => this.#startNext(), LONGEST_WAIT);
  }
}

/** The files that all file stores of this program have open for reading and writing values, except for streams. */
export const openFiles: OpenFiles = /* @__PURE__ */ new OpenFiles();
