import { rejectOnAbort } from "../stores/abort.ts";

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
  readonly #onFailure: (error: unknown) => void;

  /**
   * @param client Aborts when the client leaves.
   * @param onFailure Called by `fail`, unless the client has left.
   */
  constructor(
    milliseconds: number,
    client?: AbortSignal,
    onFailure: (error: unknown) => void = () => {},
  ) {
    this.#milliseconds = milliseconds;
    this.#onFailure = onFailure;
    const leave = () => this.abort(client!.reason);
    if (client?.aborted) leave();
    else client?.addEventListener("abort", leave, { once: true });
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
    const timer = setTimeout(() =>
      this.abort(
        new DeadlineError(
          `Expected the store to answer within ${this.#milliseconds} ms`,
        ),
      ), this.#milliseconds);
    try {
      signal.throwIfAborted();
      return await rejectOnAbort(
        Promise.resolve(step({ signal })),
        signal,
      );
    } finally {
      clearTimeout(timer);
    }
  }
}
