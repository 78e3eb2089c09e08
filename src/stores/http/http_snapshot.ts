/** How values are read together over HTTP, and told apart from later ones. */
import { UnfinishedWriteError } from "../../errors/mod.ts";
import { pause } from "../../runtime/mod.ts";
import type { ReadOptions, Snapshot, ValuesOptions } from "../backend.ts";
import type {
  ByteRange,
  StoreKey,
  StoreOptions,
  StoreVersion,
} from "../store.ts";
import {
  type HttpClient,
  type HttpResponse,
  joinSignals,
  type Observer,
  type SendOptions,
} from "./http_client.ts";
import { isRequestError } from "./http_failures.ts";
import { HttpValue } from "./http_values.ts";

/** The most tries of a task. */
const TRIES = 5;
/**
 * The time before the second try in milliseconds; doubles with each try. A value is
 * absent for some milliseconds while others are replaced.
 */
const FIRST_PAUSE = 50;

/** Options of {@linkcode readSnapshot} for buckets. */
interface SnapshotOptions extends ValuesOptions {
  /** Sees all responses. */
  readonly observe?: Observer;
  /**
   * Asks whether a program has begun to replace the values of a bucket, and has not
   * finished. Writers of buckets do not remove the sequence part before they replace the
   * others, so that only generations tell whether values are of one write.
   */
  isBeingWritten?(): Promise<boolean>;
}

/**
 * Reads values over HTTP, as `Backend.read` does.
 *
 * Values with equal generations are of one write. Without generations, the sequence part,
 * which is the value of the last key, is requested first and once more at the end, since
 * it is absent while a writer replaces the others. If it has changed, the task runs again.
 */
export async function readSnapshot<T>(
  client: HttpClient,
  keys: readonly StoreKey[],
  task: (values: Snapshot) => Promise<T>,
  options: SnapshotOptions = {},
): Promise<T> {
  const { signal, name = keys[0]!, isBeingWritten } = options;
  signal?.throwIfAborted();
  let previous: Attempt | undefined;
  let isWritten = false;
  /** The number of tries before this one that have found the same. */
  let repetitions = 0;
  for (let tries = 1;; tries++) {
    const attempt = new Attempt(client, keys, options, previous);
    let finding: Finding;
    try {
      // The task may also throw at once.
      const [outcome] = await Promise.allSettled([
        (async () => await task(attempt))(),
      ]);
      if (outcome.status === "rejected" && isRequestError(outcome.reason)) {
        throw outcome.reason;
      }
      finding = await attempt.check();
      const isSame = !isWritten && previous?.agreesWith(attempt);
      repetitions = isSame ? repetitions + 1 : 0;
      const isRight = finding === "consistent" ||
        finding === "incomplete" && repetitions === 2 ||
        // A program that knows no generations has changed one of the values of a bucket.
        finding === "mixed" && repetitions === 1 && isBeingWritten &&
          attempt.lacksGeneration;
      if (isRight) {
        if (outcome.status === "rejected") throw outcome.reason;
        return outcome.value;
      }
      if (tries === TRIES) throw new UnfinishedWriteError(name);
      isWritten = await isBeingWritten?.() ?? false;
    } catch (error) {
      attempt.abandon(error);
      throw error;
    }
    attempt.abandon(new UnfinishedWriteError(name));
    previous = attempt;
    const wait = finding === "unordered" ? 0 : FIRST_PAUSE * 2 ** (tries - 1);
    await pause(Math.max(wait, timeToAge(attempt.sequence)), signal);
  }
}

/**
 * What the responses of an attempt tell about its values: that they are consistent, that
 * only some are present, that they may be of several writes, or nothing, since the requests
 * were not ordered.
 */
type Finding = "consistent" | "incomplete" | "mixed" | "unordered";

/** One attempt to read values: sends the requests of a task, and compares their responses. */
class Attempt implements Snapshot {
  readonly #client: HttpClient;
  readonly #sequenceKey: StoreKey;
  readonly #previous: Attempt | undefined;
  /** Whether writers remove the sequence part first, and store it last. */
  readonly #hasSequence: boolean;
  /** Whether all requests for other values wait for the answer about the sequence part. */
  #isOrdered: boolean;
  readonly #controller = new AbortController();
  readonly #options: SendOptions & { readonly signal: AbortSignal };
  readonly #seen = new Map<StoreKey, Validators | undefined>();
  readonly #responses: HttpResponse[] = [];
  /** The first request of the task for the sequence part. */
  #sequenceRequest: Promise<unknown> | undefined;
  #sequenceAnswer: Promise<void> | undefined;
  #hasUnreadVersions = false;
  #isContradictory = false;

  constructor(
    client: HttpClient,
    keys: readonly StoreKey[],
    { signal, observe, isBeingWritten }: SnapshotOptions,
    previous: Attempt | undefined,
  ) {
    this.#client = client;
    this.#sequenceKey = keys.at(-1)!;
    this.#previous = previous;
    this.#hasSequence = !isBeingWritten && keys.length > 1;
    this.#isOrdered = this.#hasSequence &&
      (previous !== undefined || !client.asksTogether);
    this.#options = {
      signal: joinSignals(signal, this.#controller.signal),
      revalidate: this.#isOrdered,
      observe: (key, response) => {
        this.#options.signal.throwIfAborted();
        if (response) this.#responses.push(response);
        if (response && !response.isOk) return;
        observe?.(key, response);
        this.#note(key, response && validatorsOf(response));
      },
    };
  }

  async size(key: StoreKey): Promise<number | undefined> {
    return this.#seen.get(key)?.size ??
      await this.#ask(key, (value) => value.size());
  }

  read(
    key: StoreKey,
    range?: ByteRange,
    { limit }: ReadOptions = {},
  ): Promise<Uint8Array | undefined> {
    return this.#ask(
      key,
      (value) => range ? value.range(range) : value.bytes(limit),
    );
  }

  stream(
    key: StoreKey,
    range?: ByteRange,
  ): Promise<ReadableStream<Uint8Array> | undefined> {
    return this.#ask(key, (value) => value.stream(range));
  }

  version(key: StoreKey): StoreVersion | undefined {
    const value = this.#seen.get(key);
    const isRead = this.#seen.has(key);
    if (isRead && !(value && tellsVersion(value))) return undefined;
    this.#hasUnreadVersions ||= !isRead;
    return new HttpVersion(key, this.#seen, this.#sequenceKey);
  }

  async #ask<T>(
    key: StoreKey,
    ask: (value: HttpValue) => Promise<T>,
  ): Promise<T> {
    const isSequence = key === this.#sequenceKey;
    if (this.#isOrdered && !isSequence) {
      await (this.#sequenceAnswer ??= this.#awaitSequence());
    }
    const asked = ask(new HttpValue(this.#client, key, this.#options));
    if (isSequence) this.#sequenceRequest ??= asked;
    return await asked;
  }

  /** Waits for the answer about the sequence part, which the task may request after others. */
  async #awaitSequence(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve));
    const asked = this.#sequenceRequest;
    await asked;
    if (this.#seen.has(this.#sequenceKey)) return;
    // The answer may have told nothing, as a refusal of `HEAD` does.
    if (asked || this.#previous) await this.#fetchSequence();
    else this.#isOrdered = false; // No other value may be asked for.
  }

  async #fetchSequence(): Promise<void> {
    await validatorsAt(this.#client, this.#sequenceKey, this.#options);
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

  /** Checks whether the values that the task has read are of one write. */
  async check(): Promise<Finding> {
    const key = this.#sequenceKey;
    if (this.#seen.size === 0 && this.#hasUnreadVersions) {
      await this.#fetchSequence();
    }
    if (this.#isContradictory) return "mixed";
    const values = [...this.#seen.values()];
    const isOne = values.length < 2 &&
      (!this.#hasUnreadVersions || this.#seen.has(key));
    if (isOne || values.every((value) => value === undefined)) {
      return "consistent";
    }
    if (!areAllPresent(values)) {
      // A task that does not read the sequence part cannot see that it is missing.
      const isHidden = this.#hasSequence && this.sequence === undefined &&
        this.#sequenceRequest === undefined;
      return isHidden ? "mixed" : "incomplete";
    }
    const generations = new Set(values.map(({ generation }) => generation));
    if (generations.size > 1) return "mixed";
    const hasGenerations = values[0]!.generation !== undefined;
    this.#client.asksTogether = hasGenerations || !values.some(tellsVersion);
    // Where a bucket tells no generations, no more can be learned.
    if (this.#client.asksTogether || !this.#hasSequence) return "consistent";
    if (!this.#isOrdered) return "unordered";
    const sequence = this.sequence!;
    if (!tellsVersion(sequence)) return "consistent";
    const isAged = timeToAge(sequence) === 0 ||
      // It was waited for, whatever the date says.
      this.#previous?.sequence &&
        isSameValue(this.#previous.sequence, sequence);
    if (!isAged) return "mixed";
    await this.#fetchSequence();
    return this.#isContradictory ? "mixed" : "consistent";
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

/**
 * The header with the identifier of the write that a value belongs to. Object stores send
 * it back as metadata of the object.
 */
export const GENERATION_HEADER = "x-amz-meta-zarr-parts-generation";

/** A later value may have the same `Last-Modified` as one that is younger, in milliseconds. */
const LEAST_AGE = 2000;

/** The validators of a value, from the headers of a response. */
interface Validators {
  /** The write that the value belongs to. */
  readonly generation: string | undefined;
  /** The entity tag. Weak ones count as strong ones, since they only tell values apart. */
  readonly etag: string | undefined;
  /** `Last-Modified`, in milliseconds since 1970. */
  readonly modified: number | undefined;
  /** The length of the value in bytes, if the response tells it. */
  readonly size: number | undefined;
  /**
   * The time from `Last-Modified` to `Date` in milliseconds, if the server tells both and no
   * generation.
   */
  readonly age: number | undefined;
}

function validatorsOf(response: HttpResponse): Validators {
  const { request, headers, contentRange, contentLength } = response;
  const dateOf = (name: string) => {
    const date = Date.parse(headers.get(name) ?? "");
    return Number.isNaN(date) ? undefined : date;
  };
  const generation = headers.get(GENERATION_HEADER) ?? undefined;
  const modified = dateOf("last-modified");
  const served = dateOf("date");
  return {
    generation,
    // Servers mark the tags of compressed responses as weak, or add to them.
    etag: headers.get("etag")?.replace(/^W\//, "")
      .replace(/[-;]+(gzip|br|zstd|deflate)"$/, '"'),
    modified,
    // Some servers answer HEAD with a length of 0, that of the empty body.
    size: request.method === "HEAD"
      ? contentLength || undefined
      : contentRange.size,
    age: generation === undefined && modified !== undefined &&
        served !== undefined
      ? served - modified
      : undefined,
  };
}

/** Asks what the headers of a value tell. */
async function validatorsAt(
  client: HttpClient,
  key: StoreKey,
  options: SendOptions,
): Promise<Validators | undefined> {
  const response = await new HttpValue(client, key, {
    ...options,
    revalidate: true,
  }).head((response) => tellsVersion(validatorsOf(response)));
  return response && validatorsOf(response);
}

/**
 * The time in milliseconds until a value is old enough. None for one of the future, whose
 * writer has another clock.
 */
function timeToAge(value: Validators | undefined): number {
  const age = value?.age ?? LEAST_AGE;
  return age < 0 ? 0 : Math.max(0, LEAST_AGE - age);
}

/** Whether a later value may have the same headers. */
function isYoung(value: Validators | undefined): boolean {
  return value?.age !== undefined && value.age < LEAST_AGE;
}

/** Whether a response tells enough to tell later values apart from this one. */
function tellsVersion({ generation, etag, modified }: Validators): boolean {
  return (generation ?? etag ?? modified) !== undefined;
}

/** Whether nothing tells apart two responses to requests for one key. */
function isSameValue(
  a: Validators | undefined,
  b: Validators | undefined,
): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.generation === b.generation &&
    (a.generation !== undefined ||
      (["etag", "modified", "size"] as const).every((name) =>
        a[name] === undefined || b[name] === undefined || a[name] === b[name]
      ));
}

/**
 * The version of a value over HTTP. If the snapshot did not read the value, the first
 * response that is of the same write completes the version.
 */
class HttpVersion implements StoreVersion {
  /** The key of the value. */
  readonly key: StoreKey;
  readonly #seen: ReadonlyMap<StoreKey, Validators | undefined>;
  /** The key of the sequence part, which is the same as long as all values are. */
  readonly #sequenceKey: StoreKey;
  #completed: Validators | undefined;

  /** @param seen What responses have told about the values of a snapshot. */
  constructor(
    key: StoreKey,
    seen: ReadonlyMap<StoreKey, Validators | undefined>,
    sequenceKey: StoreKey,
  ) {
    this.key = key;
    this.#seen = seen;
    this.#sequenceKey = sequenceKey;
  }

  /** Whether each value of the snapshot can be told apart from all later ones. */
  get isLasting(): boolean {
    return !Array.from(this.#seen.values()).some(isYoung);
  }

  get size(): number | undefined {
    return this.#value?.size;
  }

  get tag(): string | undefined {
    const value = this.#value;
    if (value?.generation !== undefined) return value.generation;
    return value === undefined || isYoung(value) || !tellsVersion(value)
      ? undefined
      : `${value.etag?.slice(1, -1) ?? ""}-${value.modified ?? ""}`;
  }

  get modified(): number | undefined {
    return this.#value?.modified;
  }

  release(): void {}

  get #value(): Validators | undefined {
    return this.#completed ?? this.#seen.get(this.key);
  }

  /** Whether a response is about another version, as far as it tells. */
  isOther(value: Validators): boolean {
    const expected = this.#value ?? this.#sequence;
    return expected?.generation !== value.generation ||
      this.#value !== undefined && !isSameValue(this.#value, value);
  }

  /** Takes a value that is not another one, if it is of the same write as the snapshot. */
  async complete(
    value: Validators,
    client: HttpClient,
    options: SendOptions,
  ): Promise<boolean> {
    const sequence = this.#sequence!;
    if (this.#value === undefined) {
      if (timeToAge(sequence) > 0) {
        // The next snapshot then finds a sequence part that is old enough.
        await pause(timeToAge(sequence), options.signal);
        return false;
      }
      const isKnown = sequence.generation !== undefined ||
        !tellsVersion(sequence) || !this.#seen.has(this.#sequenceKey);
      const again = isKnown
        ? sequence
        : await validatorsAt(client, this.#sequenceKey, options);
      if (!isSameValue(sequence, again)) return false;
      this.#completed ??= value;
    }
    return !this.isOther(value);
  }

  /** The sequence part, or another value of the same write if generations tell so. */
  get #sequence(): Validators | undefined {
    const [any] = this.#seen.values();
    return this.#seen.get(this.#sequenceKey) ?? any;
  }
}

/** Thrown if a response is about another version of a value. */
class OtherVersionError extends Error {}

/** Fetches a range of one version of a value; returns `undefined` if the key has another version by now. */
export async function readVersion(
  version: StoreVersion,
  client: HttpClient,
  key: StoreKey,
  range: ByteRange,
  { signal }: StoreOptions = {},
): Promise<Uint8Array | undefined> {
  if (!(version instanceof HttpVersion) || version.key !== key) return;
  const options = signal ? { signal } : {};
  let found: Validators | undefined;
  const observe: Observer = (_, response) => {
    if (response && !response.isOk) return;
    found = response && validatorsOf(response);
    if (!found || version.isOther(found)) throw new OtherVersionError();
  };
  try {
    const value = new HttpValue(client, key, { ...options, observe });
    const bytes = await value.range(range);
    const isThis = found && await version.complete(found, client, options);
    return isThis ? bytes : undefined;
  } catch (error) {
    if (error instanceof OtherVersionError) return undefined;
    throw error;
  }
}
