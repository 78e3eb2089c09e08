import { rejectOnAbort } from "../runtime/mod.ts";

/**
 * The time in milliseconds after which a step asks whether its client has left. Most
 * steps end earlier, and do not use the signal of the request: Deno warns programs that
 * use it.
 */
const PATIENCE = 1_000;

/** Thrown if the store behind a handler took too long. */
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

  /** Ends all steps, since the client has left. */
  abort(reason?: unknown): void {
    this.#controller.abort(reason);
  }

  /** Ends all steps, and reports why. */
  fail(error: unknown): void {
    const { signal } = this.#controller;
    const isKnown = !signal.aborted || signal.reason instanceof DeadlineError;
    this.abort(error);
    if (isKnown) this.#onFailure(error);
  }

  /** Runs one step. */
  async run<T>(
    step: (options: { signal: AbortSignal }) => T | Promise<T>,
  ): Promise<T> {
    const { signal } = this.#controller;
    signal.throwIfAborted();
    const result = step({ signal });
    if (!(result instanceof Promise)) return result;
    const limit = this.#milliseconds;
    const isShort = limit <= PATIENCE;
    const end = () =>
      this.abort(
        new DeadlineError(`Expected the store to answer within ${limit} ms`),
      );
    let timer = setTimeout(() => {
      this.#watchClient();
      if (isShort) end();
      else timer = setTimeout(end, limit - PATIENCE);
    }, isShort ? limit : PATIENCE);
    try {
      return await rejectOnAbort(result, signal);
    } finally {
      clearTimeout(timer);
    }
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
