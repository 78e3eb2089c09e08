import { UnfinishedWriteError } from "../../errors/mod.ts";
import { pause } from "../../runtime/mod.ts";
import { assertInGroup } from "../capabilities.ts";
import {
  assertByteRange,
  type ByteRange,
  type GetOptions,
  type GroupValues,
  type StoreKey,
  type StoreOptions,
  type StoreVersion,
} from "../store.ts";
import type {
  HttpClient,
  RequestOptions,
  RequestSender,
} from "./http_client.ts";
import type { RetryPolicy } from "./http_failures.ts";
import {
  fetchRange,
  fetchSize,
  fetchStream,
  fetchValue,
} from "./http_reads.ts";
import type { HttpResponse } from "./http_response.ts";
import {
  fetchValidators,
  HttpVersion,
  identify,
  isAboutValue,
  isSameValue,
  isSettled,
  isUnchanged,
  joinValidators,
  tellsVersion,
  type Validators,
  youthOf,
} from "./http_version.ts";

/** The most tries of a task. */
const TRIES = 5;
/** The number of tries after which values count as missing, if all of them find the same other values. */
const TRIES_IF_INCOMPLETE = 3;
/**
 * The time before the second try in milliseconds; doubles with each try. A value is
 * absent for some milliseconds while others are replaced.
 */
const FIRST_PAUSE = 50;

/** The difference of buckets, whose writers do not remove the last value before they replace the others. */
interface BucketRules {
  /** Asks whether a program has begun to replace the values, and has not finished. */
  isBeingWritten(): Promise<boolean>;
}

/**
 * Reads values over HTTP that belong together, as `StoreGroup.read` does.
 *
 * Runs the task, and compares what the headers of its responses tell about the writes of
 * the values. If the values are not known to be of one write, waits and runs the task
 * again, with the last value requested first: that value is absent while a writer replaces
 * the others.
 */
export async function readGroup<T>(
  client: HttpClient,
  key: StoreKey,
  keys: readonly StoreKey[],
  task: (values: GroupValues) => Promise<T>,
  { signal }: StoreOptions = {},
  bucket?: BucketRules,
): Promise<T> {
  signal?.throwIfAborted();
  let incompleteTries = 0;
  let isBeingWritten = false;
  let previous: GroupReading | undefined;
  for (let tries = 1;; tries++) {
    const reading = new GroupReading(client, keys, {
      ...signal && { signal },
      isBucket: bucket !== undefined,
      order: orderOf(client, bucket, tries),
    });
    let finding: Finding;
    try {
      // The task may also throw at once.
      const [outcome] = await Promise.allSettled([
        (async () => await task(new HttpGroupValues(reading)))(),
      ]);
      const isRequestError = outcome.status === "rejected" && reading.hasFailed;
      finding = isRequestError ? "one write" : await reading.check();
      client.lacksDates ||= reading.lacksDates;
      const isSame = previous?.agreesWith(reading) && !isBeingWritten;
      if (
        bucket && isSame && finding === "uncertain" && reading.lacksGeneration
      ) {
        // A program that knows no generations has changed one of the values.
        finding = "one write";
      }
      if (finding !== "incomplete") incompleteTries = 0;
      else incompleteTries = isSame ? incompleteTries + 1 : 1;
      if (finding === "one write" || incompleteTries === TRIES_IF_INCOMPLETE) {
        if (outcome.status === "rejected") throw outcome.reason;
        reading.close();
        return outcome.value;
      }
      if (tries === TRIES) throw new UnfinishedWriteError(key);
      isBeingWritten = await bucket?.isBeingWritten() ?? false;
    } catch (error) {
      reading.abandon(error);
      throw error;
    }
    reading.abandon(new UnfinishedWriteError(key));
    previous = reading;
    await pause(
      finding === "uncertain" && reading.youth ||
        FIRST_PAUSE * 2 ** (tries - 1),
      signal,
    );
  }
}

/**
 * The order in which values are requested: as the task requests them; the last value
 * first, whether the task requests it or not; or the last value first if the task
 * requests it together with the others.
 */
type Order = "any" | "last first" | "last first if requested";

/** The order that needs fewest requests, if the values are old. */
function orderOf(
  client: HttpClient,
  bucket: BucketRules | undefined,
  tries: number,
): Order {
  if (bucket) return "any";
  if (tries > 1) return "last first";
  return client.lacksDates ? "last first if requested" : "any";
}

/** The values of a group, of which all requests belong to one reading. */
class HttpGroupValues implements GroupValues {
  readonly #reading: GroupReading;

  constructor(reading: GroupReading) {
    this.#reading = reading;
  }

  async get(
    key: StoreKey,
    options: GetOptions = {},
  ): Promise<Uint8Array | undefined> {
    assertInGroup(this.#reading.keys, key);
    return await fetchValue(this.#reading, key, options);
  }

  async getRange(
    key: StoreKey,
    range: ByteRange,
    options: StoreOptions = {},
  ): Promise<Uint8Array | undefined> {
    assertByteRange(range);
    assertInGroup(this.#reading.keys, key);
    return await fetchRange(this.#reading, key, range, options);
  }

  async stream(
    key: StoreKey,
    options: StoreOptions = {},
  ): Promise<ReadableStream<Uint8Array> | undefined> {
    assertInGroup(this.#reading.keys, key);
    return await fetchStream(this.#reading, key, options);
  }

  async size(
    key: StoreKey,
    options: StoreOptions = {},
  ): Promise<number | undefined> {
    assertInGroup(this.#reading.keys, key);
    return this.#reading.found.get(key)?.size ??
      await fetchSize(this.#reading, key, options);
  }

  version(key: StoreKey): StoreVersion | undefined {
    assertInGroup(this.#reading.keys, key);
    this.#reading.requireLast();
    // Values of buckets may be created at any time. A server that is only read is not
    // asked again, which would take a request for each absent inner chunk.
    const { found, last, isBucket } = this.#reading;
    const isAbsent = found.has(last) && found.get(last) === undefined;
    if (isBucket && isAbsent) return undefined;
    return new HttpVersion(found, last, key);
  }
}

/**
 * The result of a check: whether the values are known to be of one write. They are
 * incomplete if only some of them are present.
 */
type Finding = "one write" | "incomplete" | "uncertain";

/**
 * One attempt to read the values of a group: sends the requests of a task, and
 * compares what the headers of the responses tell.
 */
class GroupReading implements RequestSender {
  readonly #requests: RequestSender;
  readonly keys: readonly StoreKey[];
  /** The last key in storing order. Writers remove its value first and store it last. */
  readonly last: StoreKey;
  readonly #order: Order;
  /** Whether values without a generation belong together. */
  readonly isBucket: boolean;
  readonly #controller = new AbortController();
  readonly #signal: AbortSignal;
  readonly #found = new Map<StoreKey, Validators | undefined>();
  readonly #responses: HttpResponse[] = [];
  #lastSent: Promise<unknown> | undefined;
  #lastAnswered: Promise<void> | undefined;
  /** Whether another value was requested before the last one had been answered. */
  #isLastLate = false;
  #needsLast = false;
  #isContradictory = false;
  #hasFailed = false;

  /**
   * @param options `order`: the order of requests. Unless it is `"any"`, caches must ask
   * the server whether their responses still hold.
   */
  constructor(
    requests: RequestSender,
    keys: readonly StoreKey[],
    options: StoreOptions & { order: Order; isBucket: boolean },
  ) {
    this.#requests = requests;
    this.keys = keys;
    this.last = keys.at(-1)!;
    this.#order = options.order;
    this.isBucket = options.isBucket;
    this.#signal = joinSignals(options.signal, this.#controller.signal);
  }

  get policy(): RetryPolicy {
    return this.#requests.policy;
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
    const last = this.#found.get(this.last);
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
  ): Promise<HttpResponse | undefined> {
    if (key !== this.last && !this.#found.has(this.last)) {
      if (this.#order !== "any") {
        await (this.#lastAnswered ??= this.#awaitLast());
      }
      this.#isLastLate ||= !this.#found.has(this.last);
    }
    const sent = this.#send(key, options, statuses, init);
    if (key === this.last) this.#lastSent ??= sent;
    return await sent;
  }

  /** Checks whether all values that the task has read are of one write. */
  async check(): Promise<Finding> {
    if (this.#isContradictory) return "uncertain";
    const needsLast = this.#needsLast || this.#found.size > 1;
    const isAbsent = [...this.#found.values()].every((value) =>
      value === undefined
    );
    if (!needsLast || isAbsent) {
      return "one write";
    }
    if (!this.#found.has(this.last)) await this.#fetchLast();
    const last = this.#found.get(this.last);
    const others = [...this.#found].filter(([key]) => key !== this.last)
      .map(([, value]) => value);
    if (!areAllPresent(others)) return "incomplete";
    if (last === undefined) {
      // A task that does not read the last value cannot see that it is missing.
      return this.#lastSent === undefined ? "uncertain" : "incomplete";
    }
    if ([last, ...others].some(({ generation }) => generation !== undefined)) {
      return others.every((other) => other.generation === last.generation)
        ? "one write"
        : "uncertain";
    }
    // Nothing more can be learned: the server tells no versions, or the values are those of
    // a bucket, whose other writers do not remove the last value first.
    if (!tellsVersion(last) || this.isBucket) return "one write";
    if (others.every((other) => isSettled(last, other))) return "one write";
    if (this.#isLastLate || this.youth > 0) return "uncertain";
    const again = await fetchValidators(
      this.#requests,
      this.last,
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

  /** Ends the attempt, but no request: the result of the task may be a stream that is read later. */
  close(): void {
    this.#responses.length = 0;
  }

  /** Cancels everything that the task has requested or requests later. */
  abandon(reason: unknown): void {
    this.#controller.abort(reason);
    for (const response of this.#responses) cancel(response, reason);
    this.close();
  }

  async #send(
    key: StoreKey,
    { signal }: StoreOptions,
    statuses: readonly number[],
    init: RequestOptions = {},
  ): Promise<HttpResponse | undefined> {
    try {
      const response = await this.#requests.send(
        key,
        { signal: joinSignals(signal, this.#signal) },
        statuses,
        this.#order === "any" ? init : { ...init, revalidate: true },
      );
      if (this.#signal.aborted && response) {
        cancel(response, this.#signal.reason);
      }
      this.#signal.throwIfAborted();
      if (response) this.#responses.push(response);
      if (response === undefined) this.#note(key, undefined);
      else if (isAboutValue(response)) {
        const own = { signal: this.#signal };
        this.#note(key, await identify(response, this.#requests, key, own));
      }
      return response;
    } catch (error) {
      this.#hasFailed = true;
      throw error;
    }
  }

  /** Waits for the response about the last value, which the task may request later than others. */
  async #awaitLast(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve));
    if (this.#lastSent !== undefined) await this.#lastSent;
    else if (this.#order === "last first") await this.#fetchLast();
  }

  async #fetchLast(): Promise<void> {
    const last = this.last;
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

function areAllPresent(
  values: (Validators | undefined)[],
): values is Validators[] {
  return !values.includes(undefined);
}

function cancel(response: HttpResponse, reason: unknown): void {
  // A body that is read in one call cannot be cancelled; its request is aborted.
  response.cancel(reason).catch(() => {});
}
