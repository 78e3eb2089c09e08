import type {
  Answer,
  RequestOptions,
  Requests,
  RetryPolicy,
} from "./exchange.ts";
import { fetchValidators, identify, isAboutValue } from "./fetch_validators.ts";
import type { StoreKey, StoreOptions } from "../store.ts";
import {
  isSameValue,
  isSettled,
  isUnchanged,
  joinValidators,
  tellsVersion,
  type Validators,
  youthOf,
} from "./validators.ts";

/**
 * The result of a check: whether the values are known to be of one write. They are
 * incomplete if only some of them are present.
 */
export type Finding = "one write" | "incomplete" | "uncertain";

/**
 * The order in which values are requested: as the task requests them; the last value
 * first, whether the task requests it or not; or the last value first if the task
 * requests it together with the others.
 */
export type Order = "any" | "last first" | "last first if requested";

/**
 * One attempt to read the values of a group: sends the requests of a task, and
 * compares what the headers of the responses tell.
 */
export class GroupReading implements Requests {
  readonly #requests: Requests;
  /** The last value in storing order. Writers remove it first and store it last. */
  readonly #last: StoreKey;
  readonly #order: Order;
  readonly #isBucket: boolean;
  readonly #controller = new AbortController();
  readonly #signal: AbortSignal;
  readonly #found = new Map<StoreKey, Validators | undefined>();
  readonly #answers: Answer[] = [];
  #lastSent: Promise<unknown> | undefined;
  #lastAnswered: Promise<void> | undefined;
  /** Whether another value was requested before the last one had been answered. */
  #isLastLate = false;
  #needsLast = false;
  #isContradictory = false;
  #hasFailed = false;

  /**
   * @param options `order`: the order of requests, and unless it is `"any"`, caches
   * must ask the server whether their responses still hold. `isBucket`: whether values
   * without a generation belong together.
   */
  constructor(
    requests: Requests,
    keys: readonly StoreKey[],
    options: StoreOptions & { order: Order; isBucket?: boolean },
  ) {
    this.#requests = requests;
    this.#last = keys.at(-1)!;
    this.#order = options.order;
    this.#isBucket = options.isBucket ?? false;
    this.#signal = joinSignals(options.signal, this.#controller.signal);
  }

  get policy(): RetryPolicy {
    return this.#requests.policy;
  }

  /** The last key of the group. */
  get last(): StoreKey {
    return this.#last;
  }

  /** The validators of each value, as responses told them; `undefined` for absent values. */
  get found(): ReadonlyMap<StoreKey, Validators | undefined> {
    return this.#found;
  }

  /** Whether a request failed, and so the task, whatever values it read. */
  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  /** Whether `Date` was missing in a response that tells versions apart. */
  get lacksDates(): boolean {
    return [...this.#found.values()].some((value) =>
      value !== undefined && value.generation === undefined &&
      tellsVersion(value) && value.served === undefined
    );
  }

  /** Whether a value carries no generation. */
  get lacksGeneration(): boolean {
    return [...this.#found.values()].some((value) =>
      value !== undefined && value.generation === undefined
    );
  }

  /** The time in milliseconds until the last value is old enough to be told apart from others. */
  get youth(): number {
    const last = this.#found.get(this.#last);
    return last === undefined ? 0 : youthOf(last);
  }

  /** Includes the last value in the check, even if the task does not read it. */
  requireLast(): void {
    this.#needsLast = true;
  }

  async send(
    key: StoreKey,
    options: StoreOptions,
    statuses: readonly number[],
    init?: RequestOptions,
  ): Promise<Answer | undefined> {
    if (key !== this.#last && !this.#found.has(this.#last)) {
      if (this.#order !== "any") {
        await (this.#lastAnswered ??= this.#awaitLast());
      }
      this.#isLastLate ||= !this.#found.has(this.#last);
    }
    const sent = this.#send(key, options, statuses, init);
    if (key === this.#last) this.#lastSent ??= sent;
    return await sent;
  }

  /** Checks whether all values that the task has read are of one write. */
  async check(): Promise<Finding> {
    if (this.#isContradictory) return "uncertain";
    const needsLast = this.#needsLast || this.#found.size > 1;
    const values = [...this.#found.values()];
    if (!needsLast || values.every((value) => value === undefined)) {
      return "one write";
    }
    if (!this.#found.has(this.#last)) await this.#fetchLast();
    const last = this.#found.get(this.#last);
    const others = [...this.#found].filter(([key]) => key !== this.#last)
      .map(([, value]) => value);
    if (!isPresent(others)) return "incomplete";
    if (last === undefined) {
      // A task that does not read the last value cannot see that it is missing.
      return this.#lastSent === undefined ? "uncertain" : "incomplete";
    }
    if ([last, ...others].some(({ generation }) => generation !== undefined)) {
      return others.every((other) => other.generation === last.generation)
        ? "one write"
        : "uncertain";
    }
    // No server tells more, and the other writers of buckets leave no gap.
    if (!tellsVersion(last) || this.#isBucket) return "one write";
    if (others.every((other) => isSettled(last, other))) return "one write";
    if (this.#isLastLate || this.youth > 0) return "uncertain";
    const again = await fetchValidators(
      this.#requests,
      this.#last,
      { signal: this.#signal },
    );
    return again !== undefined &&
        others.every((other) => isUnchanged(last, other, again))
      ? "one write"
      : "uncertain";
  }

  /** Whether nothing tells apart the values that two attempts have found. */
  agreesWith(other: GroupReading): boolean {
    return this.#found.size === other.#found.size &&
      [...this.#found].every(([key, value]) => {
        const found = other.#found.get(key);
        return value && found ? isSameValue(value, found) : value === found;
      });
  }

  /** Ends the attempt. The result of the task may be a stream that is read later. */
  close(): void {
    this.#answers.length = 0;
  }

  /** Cancels everything that the task has requested or requests later. */
  abandon(reason: unknown): void {
    this.#controller.abort(reason);
    for (const answer of this.#answers) cancel(answer, reason);
    this.close();
  }

  async #send(
    key: StoreKey,
    { signal }: StoreOptions,
    statuses: readonly number[],
    init: RequestOptions = {},
  ): Promise<Answer | undefined> {
    try {
      const answer = await this.#requests.send(
        key,
        { signal: joinSignals(signal, this.#signal) },
        statuses,
        this.#order === "any" ? init : { ...init, revalidate: true },
      );
      if (this.#signal.aborted && answer) cancel(answer, this.#signal.reason);
      this.#signal.throwIfAborted();
      if (answer) this.#answers.push(answer);
      if (answer === undefined) this.#note(key, undefined);
      else if (isAboutValue(answer)) {
        const own = { signal: this.#signal };
        this.#note(key, await identify(answer, this.#requests, key, own));
      }
      return answer;
    } catch (error) {
      this.#hasFailed = true;
      throw error;
    }
  }

  /** Waits until the last value has been answered. The task may request it later than others. */
  async #awaitLast(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve));
    if (this.#lastSent !== undefined) await this.#lastSent;
    else if (this.#order === "last first") await this.#fetchLast();
  }

  async #fetchLast(): Promise<void> {
    const last = this.#last;
    const options = { signal: this.#signal };
    this.#note(last, await fetchValidators(this.#requests, last, options));
  }

  #note(key: StoreKey, value: Validators | undefined): void {
    if (!this.#found.has(key)) {
      this.#found.set(key, value);
      return;
    }
    const earlier = this.#found.get(key);
    if (earlier && value && isSameValue(earlier, value)) {
      this.#found.set(key, joinValidators(earlier, value));
    } else if (earlier || value) this.#isContradictory = true;
  }
}

/** A signal that aborts with either of two. */
function joinSignals(
  a: AbortSignal | undefined,
  b: AbortSignal,
): AbortSignal {
  return a === undefined ? b : AbortSignal.any([a, b]);
}

function isPresent(
  values: (Validators | undefined)[],
): values is Validators[] {
  return !values.includes(undefined);
}

function cancel(answer: Answer, reason: unknown): void {
  // A body that is read whole cannot be cancelled; its request is aborted.
  answer.cancel(reason).catch(() => {});
}
