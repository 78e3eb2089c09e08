import type { StoreOptions } from "../store.ts";

/** The longest time of a timer in milliseconds. */
const LONGEST = 2 ** 31 - 1;

/** The connections of a store that are open or about to be opened. */
export interface Connections {
  readonly open: Set<Connection>;
  /** Called one after another, each when a connection has ended. */
  readonly waiting: (() => void)[];
  /** The greatest number of open ones. */
  readonly most: number;
}

/** One request and its answer, with a limit to the time that the server may be silent. */
export class Connection {
  readonly #connections: Connections;
  /** How long the server may be silent, in milliseconds. */
  readonly timeout: number;
  readonly #controller = new AbortController();
  /** The options of the caller. */
  readonly options: StoreOptions;
  /** Aborts if the caller aborts the request, and if the server is silent for too long. */
  readonly signal: AbortSignal;
  /** Since when nobody waits for the server, by `Date.now()`. */
  since: number | undefined;

  constructor(
    connections: Connections,
    timeout: number,
    options: StoreOptions,
  ) {
    this.#connections = connections;
    this.timeout = timeout;
    this.options = options;
    const { signal } = options;
    const own = this.#controller.signal;
    this.signal = signal ? AbortSignal.any([signal, own]) : own;
  }

  /** Waits for bytes of the server. */
  async wait<T>(bytes: () => Promise<T>): Promise<T> {
    const { signal } = this;
    signal.throwIfAborted();
    this.since = Infinity;
    const timer = setTimeout(
      () =>
        this.#controller.abort(
          new DOMException(
            `Silent for ${this.timeout} ms`,
            "TimeoutError",
          ),
        ),
      Math.min(this.timeout, LONGEST),
    );
    try {
      // Functions of the caller in place of fetch may know nothing of signals.
      return await Promise.race([
        bytes(),
        new Promise<never>((_, reject) => {
          signal.onabort = () => reject(signal.reason);
        }),
      ]);
    } finally {
      signal.onabort = null;
      clearTimeout(timer);
      this.since = Date.now();
    }
  }

  /** Lets the next request begin. */
  end(): void {
    const { open, waiting } = this.#connections;
    if (open.delete(this)) waiting.shift()?.();
  }
}
