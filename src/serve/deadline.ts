import { rejectOnAbort } from "../stores/abort.ts";

/**
 * The time in milliseconds after which a step asks whether its client has left. Most
 * steps end before, and need not: Deno warns programs that use the signal of a request.
 */
const PATIENCE = 1_000;

/** The store behind a handler took too long. */
export class DeadlineError extends Error {
  override readonly name = "DeadlineError";
}

/**
 * Limits the time that each step of an answer may take, and ends all steps once the
 * client has left. Stores may ignore the signal.
 */
export class Deadline {
  readonly #controller = new AbortController();
  readonly #milliseconds: number;
  readonly #client: Request | undefined;
  readonly #onFailure: (error: unknown) => void;
  #isWatching = false;

  /**
   * @param client The request, whose signal aborts when the client leaves.
   * @param onFailure Called by `fail`, unless the client has left.
   */
  constructor(
    milliseconds: number,
    client?: Request,
    onFailure: (error: unknown) => void = () => {},
  ) {
    this.#milliseconds = milliseconds;
    this.#client = client;
    this.#onFailure = onFailure;
  }

  /** The signal for the store. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Ends all steps, since the client has left. */
  abort(reason?: unknown): void {
    this.#controller.abort(reason);
  }

  /** Ends all steps, and reports why. */
  fail(error: unknown): void {
    const { signal } = this;
    const isKnown = !signal.aborted || signal.reason instanceof DeadlineError;
    this.abort(error);
    if (isKnown) this.#onFailure(error);
  }

  /** Runs one step. */
  async run<T>(
    step: (options: { signal: AbortSignal }) => T | Promise<T>,
  ): Promise<T> {
    const { signal } = this;
    signal.throwIfAborted();
    const result = step({ signal });
    if (!(result instanceof Promise)) return result;
    const wait = Math.min(PATIENCE, this.#milliseconds);
    let timer = setTimeout(() => {
      this.#watchClient();
      timer = setTimeout(() => this.#expire(), this.#milliseconds - wait);
    }, wait);
    try {
      return await rejectOnAbort(result, signal);
    } finally {
      clearTimeout(timer);
    }
  }

  #expire(): void {
    this.abort(
      new DeadlineError(
        `Expected the store to answer within ${this.#milliseconds} ms`,
      ),
    );
  }

  #watchClient(): void {
    if (this.#isWatching || this.#client === undefined) return;
    this.#isWatching = true;
    const { signal } = this.#client;
    const leave = () => this.abort(signal.reason);
    if (signal.aborted) leave();
    else signal.addEventListener("abort", leave, { once: true });
  }
}
