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

/** A step of an answer that is under way. */
interface Step {
  /** How long the step may take, in milliseconds. */
  readonly limit: number;
  /** When the step began. */
  readonly start: number;
  readonly reject: (reason: unknown) => void;
}

/**
 * Limits the time that each step of an answer may take, and ends all steps once the
 * client has left. Stores may ignore the signal. All steps share one timer, since an
 * answer may have many short ones.
 */
export class Deadline {
  readonly #controller = new AbortController();
  readonly #milliseconds: number;
  readonly #client: Request | undefined;
  readonly #onFailure: (error: unknown) => void;
  readonly #steps = new Set<Step>();
  #timer: ReturnType<typeof setTimeout> | undefined;
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
    if (this.signal.aborted) return;
    this.#controller.abort(reason);
    for (const { reject } of this.#steps) reject(this.signal.reason);
  }

  /** Ends all steps, and reports why. */
  fail(error: unknown): void {
    const { signal } = this;
    const isKnown = !signal.aborted || signal.reason instanceof DeadlineError;
    this.abort(error);
    if (isKnown) this.#onFailure(error);
  }

  /** Ends the timer. Must be called once no more steps come. */
  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /**
   * Runs one step.
   *
   * @param limit How long the step may take in milliseconds, if not as long as the others.
   */
  async run<T>(
    step: (options: { signal: AbortSignal }) => T | Promise<T>,
    limit = this.#milliseconds,
  ): Promise<T> {
    const { signal } = this;
    signal.throwIfAborted();
    const result = step({ signal });
    if (!(result instanceof Promise)) return result;
    return await new Promise<T>((resolve, reject) => {
      const running: Step = { limit, start: performance.now(), reject };
      this.#steps.add(running);
      this.#timer ??= setTimeout(
        () => this.#check(),
        Math.min(PATIENCE, limit),
      );
      result.then(resolve, reject)
        .finally(() => this.#steps.delete(running));
      if (signal.aborted) reject(signal.reason);
    });
  }

  #check(): void {
    this.#timer = undefined;
    const now = performance.now();
    if (this.#steps.size === 0) return;
    let left = Infinity;
    for (const { limit, start } of this.#steps) {
      const used = now - start;
      left = Math.min(left, limit - used);
      if (left <= 0) {
        this.abort(
          new DeadlineError(`Expected the store to answer within ${limit} ms`),
        );
        return;
      }
      if (used >= Math.min(PATIENCE, limit)) this.#watchClient();
    }
    this.#timer = setTimeout(
      () => this.#check(),
      Math.min(Math.ceil(left), PATIENCE),
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
