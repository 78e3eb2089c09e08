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
import { fetchStream } from "./answer_pieces.ts";
import { type Finding, GroupReading } from "./group_reading.ts";
import { fetchRange } from "./range.ts";
import type { HttpRequests } from "./requests.ts";
import { fetchSize } from "./size.ts";
import { fetchValue } from "./value.ts";
import { HttpVersion } from "./version.ts";

export { fetchRangeOf } from "./version.ts";

/** The number of times that a task is tried. */
const TRIES = 5;
/** The number of times that the same values are read of which only some are present. */
const TRIES_IF_INCOMPLETE = 3;
/**
 * The time before the second try in milliseconds; doubles with each try. A value is
 * absent for some milliseconds while others are replaced.
 */
const FIRST_PAUSE = 50;

/** The differences of buckets, whose writers leave no gap. */
export interface BucketRules {
  /** Asks whether a program has begun to replace the values, and has not finished. */
  isBeingWritten(): Promise<boolean>;
}

/** Reads values over HTTP that belong together, as `StoreGroup.read` does. */
export async function readGroup<T>(
  requests: HttpRequests,
  key: StoreKey,
  keys: readonly StoreKey[],
  task: (values: GroupValues) => Promise<T>,
  { signal }: StoreOptions = {},
  bucket?: BucketRules,
): Promise<T> {
  signal?.throwIfAborted();
  let incomplete = 0;
  let isBeingWritten = false;
  let previous: GroupReading | undefined;
  for (let tries = 1;; tries++) {
    const reading = new GroupReading(requests, keys, {
      ...signal && { signal },
      isBucket: bucket !== undefined,
      order: bucket
        ? "any"
        : tries > 1
        ? "last first"
        : requests.lacksDates
        ? "last first if requested"
        : "any",
    });
    let finding: Finding;
    try {
      const outcome = await settle(() =>
        task(new HttpGroupValues(reading, keys, bucket !== undefined))
      );
      const isEnded = outcome.status === "rejected" && reading.hasFailed;
      finding = isEnded ? "one write" : await reading.check();
      requests.lacksDates ||= reading.lacksDates;
      const isSame = previous?.agreesWith(reading) && !isBeingWritten;
      // A program that knows no generations has changed one of the values.
      if (
        bucket && isSame && finding === "uncertain" && reading.lacksGeneration
      ) finding = "one write";
      if (finding !== "incomplete" || !isSame) {
        incomplete = 0;
      }
      if (finding === "incomplete") incomplete++;
      if (finding === "one write" || incomplete === TRIES_IF_INCOMPLETE) {
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

/** Waits for the end of a task, which may also throw at once. */
async function settle<T>(
  task: () => Promise<T>,
): Promise<PromiseSettledResult<T>> {
  const [outcome] = await Promise.allSettled([(async () => await task())()]);
  return outcome;
}

class HttpGroupValues implements GroupValues {
  readonly #reading: GroupReading;
  readonly #keys: readonly StoreKey[];
  readonly #isBucket: boolean;

  constructor(
    reading: GroupReading,
    keys: readonly StoreKey[],
    isBucket: boolean,
  ) {
    this.#reading = reading;
    this.#keys = keys;
    this.#isBucket = isBucket;
  }

  async get(
    key: StoreKey,
    options: GetOptions = {},
  ): Promise<Uint8Array | undefined> {
    assertInGroup(this.#keys, key);
    return await fetchValue(this.#reading, key, options);
  }

  async getRange(
    key: StoreKey,
    range: ByteRange,
    options: StoreOptions = {},
  ): Promise<Uint8Array | undefined> {
    assertByteRange(range);
    assertInGroup(this.#keys, key);
    return await fetchRange(this.#reading, key, range, options);
  }

  async stream(
    key: StoreKey,
    options: StoreOptions = {},
  ): Promise<ReadableStream<Uint8Array> | undefined> {
    assertInGroup(this.#keys, key);
    return await fetchStream(this.#reading, key, options);
  }

  async size(
    key: StoreKey,
    options: StoreOptions = {},
  ): Promise<number | undefined> {
    assertInGroup(this.#keys, key);
    return this.#reading.found.get(key)?.size ??
      await fetchSize(this.#reading, key, options);
  }

  version(key: StoreKey): StoreVersion | undefined {
    assertInGroup(this.#keys, key);
    this.#reading.requireLast();
    // Values of buckets may be created at any time. A server that is only read is not
    // asked again, which would take a request for each absent inner chunk.
    const { found, last } = this.#reading;
    const isAbsent = found.has(last) && found.get(last) === undefined;
    if (this.#isBucket && isAbsent) return undefined;
    return new HttpVersion(this.#reading.found, this.#reading.last, key);
  }
}
