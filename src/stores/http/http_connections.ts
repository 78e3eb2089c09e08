import type { StoreOptions } from "../store.ts";

/** The longest delay of a timer in milliseconds. */
const LONGEST_TIMER = 2 ** 31 - 1;

/** How long an open connection may be idle while requests wait for one, in milliseconds. */
const LONGEST_IDLE = 250;

/** The open connections of a store, up to a limit, and the requests that wait for one. */
export class Connections {
  readonly #limit: number;
  readonly #open = new Set<Connection>();
  /** Starts a request, in the order in which they came, when a connection has ended. */
  readonly #waiting: (() => void)[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Opens a connection, unless as many as allowed are open. */
  tryOpen(connection: Connection): boolean {
    if (this.#open.size >= this.#limit) return false;
    this.#open.add(connection);
    return true;
  }

  /**
   * Opens a connection as soon as the limit allows it. Connections whose body nobody
   * reads stop counting after a moment: their readers may be waiting for this connection,
   * and would wait for ever.
   */
  async open(connection: Connection): Promise<void> {
    const { signal } = connection;
    await new Promise<void>((resolve, reject) => {
      const timer = setInterval(() => this.#closeIdle(), LONGEST_IDLE);
      const stop = () => {
        clearInterval(timer);
        signal.removeEventListener("abort", fail);
      };
      const begin = () => {
        stop();
        this.#open.add(connection);
        resolve();
      };
      const fail = () => {
        stop();
        this.#waiting.splice(this.#waiting.indexOf(begin), 1);
        reject(signal.reason);
      };
      signal.addEventListener("abort", fail);
      this.#waiting.push(begin);
      if (signal.aborted) fail();
    });
  }

  /** Stops counting a connection, and starts the request that has waited longest. */
  close(connection: Connection): void {
    if (this.#open.delete(connection)) this.#waiting.shift()?.();
  }

  /** Stops counting one connection that has been idle for too long. */
  #closeIdle(): void {
    const latest = Date.now() - LONGEST_IDLE;
    for (const connection of this.#open) {
      if (connection.idleSince <= latest) return this.close(connection);
    }
  }
}

/** One request and its response, with a limit to the time that the server may be silent. */
export class Connection {
  readonly #connections: Connections;
  /** How long the server may be silent, in milliseconds. */
  readonly timeout: number;
  readonly #controller = new AbortController();
  /** The options of the caller. */
  readonly options: StoreOptions;
  /** Aborts if the caller aborts the request, and if the server is silent for too long. */
  readonly signal: AbortSignal;
  /** The time by `Date.now()` since which nobody waits for the server. */
  idleSince = Infinity;

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
  async wait<T>(receive: () => Promise<T>): Promise<T> {
    const { signal } = this;
    signal.throwIfAborted();
    this.idleSince = Infinity;
    const timer = setTimeout(
      () =>
        this.#controller.abort(
          new DOMException(`Silent for ${this.timeout} ms`, "TimeoutError"),
        ),
      Math.min(this.timeout, LONGEST_TIMER),
    );
    try {
      // A `fetch` function of the caller may ignore the signal.
      return await Promise.race([
        receive(),
        new Promise<never>((_, reject) => {
          signal.onabort = () => reject(signal.reason);
        }),
      ]);
    } finally {
      signal.onabort = null;
      clearTimeout(timer);
      this.idleSince = Date.now();
    }
  }

  /** Lets the next request begin. */
  close(): void {
    this.#connections.close(this);
  }
}
