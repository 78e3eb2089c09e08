import { UnfinishedWriteError } from "../../errors/mod.ts";
import { pause } from "../../runtime/mod.ts";
import type { ReadOptions, Snapshot, ValuesOptions } from "../backend.ts";
import type { ByteRange, StoreKey, StoreVersion } from "../store.ts";
import {
  type HttpResponse,
  joinSignals,
  type RequestSender,
} from "./http_client.ts";
import { isRequestError } from "./http_failures.ts";
import {
  HttpValue,
  HttpVersion,
  isSameValue,
  tellsVersion,
  timeToAge,
  type Validators,
  watch,
} from "./http_values.ts";

/** The most tries of a task. */
const TRIES = 5;
/** The number of tries after which values count as missing, if all of them find the same other values. */
const TRIES_IF_INCOMPLETE = 3;
/**
 * The time before the second try in milliseconds; doubles with each try. A value is
 * absent for some milliseconds while others are replaced.
 */
const FIRST_PAUSE = 50;

/**
 * The difference of buckets: their writers do not remove the sequence part before they
 * replace the others, so that only generations tell whether values are of one write.
 */
export interface BucketRules {
  /** Asks whether a program has begun to replace the values, and has not finished. */
  isBeingWritten(): Promise<boolean>;
}

/**
 * Reads values over HTTP, as `Backend.read` does.
 *
 * Values with equal generations are of one write. Without generations, the sequence part,
 * which is the value of the last key, is requested first and once more at the end, since
 * it is absent while a writer replaces the others. If it has changed, the task runs again.
 *
 * @param bucket The rules for a bucket. None for a web server.
 */
export async function readSnapshot<T>(
  sender: RequestSender,
  keys: readonly StoreKey[],
  task: (values: Snapshot) => Promise<T>,
  { signal, name = keys[0]! }: ValuesOptions = {},
  bucket?: BucketRules,
): Promise<T> {
  signal?.throwIfAborted();
  let incompleteTries = 0;
  let isBeingWritten = false;
  let previous: Attempt | undefined;
  /** A sequence part that was too young, and is old enough by now. */
  let aged: Validators | undefined;
  for (let tries = 1;; tries++) {
    const hasSequence = !bucket && keys.length > 1;
    const attempt = new Attempt(
      sender,
      keys,
      signal,
      hasSequence && (tries > 1 || !sender.asksTogether),
      hasSequence && tries > 1,
    );
    let finding: Finding;
    try {
      // The task may also throw at once.
      const [outcome] = await Promise.allSettled([
        (async () => await task(attempt))(),
      ]);
      if (outcome.status === "rejected" && isRequestError(outcome.reason)) {
        throw outcome.reason;
      }
      finding = await attempt.check(hasSequence, aged);
      const isSame = !isBeingWritten && previous?.agreesWith(attempt);
      if (bucket && isSame && finding === "mixed" && attempt.lacksGeneration) {
        // A program that knows no generations has changed one of the values.
        finding = "consistent";
      }
      if (finding !== "incomplete") incompleteTries = 0;
      else incompleteTries = isSame ? incompleteTries + 1 : 1;
      if (
        finding === "consistent" || incompleteTries === TRIES_IF_INCOMPLETE
      ) {
        if (outcome.status === "rejected") throw outcome.reason;
        return outcome.value;
      }
      if (tries === TRIES) throw new UnfinishedWriteError(name);
      isBeingWritten = await bucket?.isBeingWritten() ?? false;
    } catch (error) {
      attempt.abandon(error);
      throw error;
    }
    attempt.abandon(new UnfinishedWriteError(name));
    previous = attempt;
    if (finding === "too young") {
      aged = attempt.sequence!;
      await pause(timeToAge(aged), signal);
    } else if (finding !== "unordered") {
      await pause(FIRST_PAUSE * 2 ** (tries - 1), signal);
    }
  }
}

/**
 * What the responses of an attempt tell about its values: that they are consistent, that
 * only some are present, that they are of several writes, or nothing, since the requests
 * were not ordered, or the sequence part was stored a moment ago, so that another one may
 * have the same headers.
 */
type Finding =
  | "consistent"
  | "incomplete"
  | "mixed"
  | "unordered"
  | "too young";

/** One attempt to read values: sends the requests of a task, and compares their responses. */
class Attempt implements Snapshot {
  readonly #sender: RequestSender;
  /** Sends the requests of the task. */
  readonly #watched: RequestSender;
  readonly #sequenceKey: StoreKey;
  /** Whether all requests for other values wait for the answer about the sequence part. */
  #isOrdered: boolean;
  readonly #needsSequence: boolean;
  readonly #controller = new AbortController();
  readonly #options: { readonly signal: AbortSignal };
  readonly #seen = new Map<StoreKey, Validators | undefined>();
  readonly #responses: HttpResponse[] = [];
  /** The first request of the task for the sequence part. */
  #sequenceRequest: Promise<unknown> | undefined;
  #sequenceAnswer: Promise<void> | undefined;
  #hasUnreadVersions = false;
  #isContradictory = false;

  /**
   * @param isOrdered Whether the other requests wait for the answer about the sequence part,
   * and caches must ask the server.
   * @param needsSequence Whether they do so even if the task does not ask for that part.
   */
  constructor(
    sender: RequestSender,
    keys: readonly StoreKey[],
    signal: AbortSignal | undefined,
    isOrdered: boolean,
    needsSequence: boolean,
  ) {
    this.#sender = sender;
    this.#watched = watch(
      { send: (...request) => this.#send(...request) as Promise<undefined> },
      async (key, value, read, response) => {
        this.#options.signal.throwIfAborted();
        if (response) this.#responses.push(response);
        const result = await read();
        this.#note(key, value);
        return result;
      },
    );
    this.#sequenceKey = keys.at(-1)!;
    this.#isOrdered = isOrdered;
    this.#needsSequence = needsSequence;
    this.#options = { signal: joinSignals(signal, this.#controller.signal) };
  }

  async size(key: StoreKey): Promise<number | undefined> {
    return this.#seen.get(key)?.size ?? await this.#value(key).size();
  }

  async read(
    key: StoreKey,
    range?: ByteRange,
    { limit }: ReadOptions = {},
  ): Promise<Uint8Array | undefined> {
    const value = this.#value(key);
    return await (range ? value.range(range) : value.bytes(limit));
  }

  async stream(
    key: StoreKey,
    range?: ByteRange,
  ): Promise<ReadableStream<Uint8Array> | undefined> {
    return await this.#value(key).stream(range);
  }

  version(key: StoreKey): StoreVersion | undefined {
    const value = this.#seen.get(key);
    const isRead = this.#seen.has(key);
    if (isRead && !(value && tellsVersion(value))) return undefined;
    this.#hasUnreadVersions ||= !isRead;
    return new HttpVersion(key, this.#seen, this.#sequenceKey);
  }

  #value(key: StoreKey): HttpValue {
    return new HttpValue(this.#watched, key, this.#options);
  }

  /** Sends a request of the task. */
  async #send(
    ...[key, options, statuses, init, read]: Parameters<RequestSender["send"]>
  ): Promise<unknown> {
    const isSequence = key === this.#sequenceKey;
    if (this.#isOrdered && !isSequence) {
      await (this.#sequenceAnswer ??= this.#awaitSequence());
    }
    const revalidate = this.#isOrdered;
    const sent = this.#sender
      .send(key, options, statuses, { ...init, revalidate }, read);
    if (isSequence) this.#sequenceRequest ??= sent;
    return await sent;
  }

  /** Waits for the answer about the sequence part, which the task may request after others. */
  async #awaitSequence(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve));
    const sent = this.#sequenceRequest;
    await sent;
    if (this.#seen.has(this.#sequenceKey)) return;
    // The answer may have told nothing, as a refusal of `HEAD` does.
    if (sent || this.#needsSequence) await this.#fetchSequence();
    else this.#isOrdered = false; // No other value may be asked for.
  }

  async #fetchSequence(): Promise<void> {
    this.#note(this.#sequenceKey, await this.#askForSequence());
  }

  #askForSequence(): Promise<Validators | undefined> {
    const { signal } = this.#options;
    return new HttpValue(this.#sender, this.#sequenceKey, { signal })
      .validators();
  }

  #note(key: StoreKey, value: Validators | undefined): void {
    const earlier = this.#seen.get(key);
    this.#isContradictory ||= this.#seen.has(key) &&
      !isSameValue(earlier, value);
    this.#seen.set(
      key,
      earlier && value
        ? { ...earlier, size: earlier.size ?? value.size }
        : value,
    );
  }

  /**
   * Checks whether the values that the task has read are of one write.
   *
   * @param hasSequence Whether writers remove the sequence part first, and store it last.
   * @param aged A sequence part that is old enough, whatever its date says.
   */
  async check(hasSequence: boolean, aged?: Validators): Promise<Finding> {
    if (this.#isContradictory) return "mixed";
    const key = this.#sequenceKey;
    if (this.#seen.size === 0 && this.#hasUnreadVersions) {
      await this.#fetchSequence();
    }
    const values = [...this.#seen.values()];
    const isOne = values.length < 2 &&
      (!this.#hasUnreadVersions || this.#seen.has(key));
    if (isOne || values.every((value) => value === undefined)) {
      return "consistent";
    }
    if (!areAllPresent(values)) {
      // A task that does not read the sequence part cannot see that it is missing.
      const isHidden = hasSequence && this.#seen.get(key) === undefined &&
        this.#sequenceRequest === undefined;
      return isHidden ? "mixed" : "incomplete";
    }
    const generations = new Set(values.map(({ generation }) => generation));
    if (generations.size > 1) return "mixed";
    const hasGenerations = values[0]!.generation !== undefined;
    this.#sender.asksTogether = hasGenerations || !values.some(tellsVersion);
    // Where a bucket tells no generations, no more can be learned.
    if (this.#sender.asksTogether || !hasSequence) return "consistent";
    if (!this.#isOrdered) return "unordered";
    const sequence = this.#seen.get(key)!;
    if (!tellsVersion(sequence)) return "consistent";
    const isAged = aged !== undefined && isSameValue(aged, sequence);
    if (timeToAge(sequence) > 0 && !isAged) return "too young";
    const again = await this.#askForSequence();
    return isSameValue(sequence, again) ? "consistent" : "mixed";
  }

  /** What is known of the sequence part. */
  get sequence(): Validators | undefined {
    return this.#seen.get(this.#sequenceKey);
  }

  /** Whether a value carries no generation. */
  get lacksGeneration(): boolean {
    return [...this.#seen.values()].some((value) =>
      value !== undefined && value.generation === undefined
    );
  }

  /** Whether nothing tells apart the values that two attempts have found. */
  agreesWith(other: Attempt): boolean {
    return this.#seen.size === other.#seen.size &&
      [...this.#seen].every(([key, value]) =>
        isSameValue(value, other.#seen.get(key))
      );
  }

  /** Cancels everything that the task has requested or requests later. */
  abandon(reason: unknown): void {
    this.#controller.abort(reason);
    for (const response of this.#responses) {
      // A body that is read in one call cannot be cancelled; its request is aborted.
      response.cancel(reason).catch(() => {});
    }
  }
}

function areAllPresent(
  values: (Validators | undefined)[],
): values is Validators[] {
  return !values.includes(undefined);
}
