/** How a value is read over HTTP, and how it is told apart from later ones. */
import { SizeLimitError } from "../../errors/mod.ts";
import { pause } from "../../runtime/mod.ts";
import { rangeStream, toBytes } from "../byte_streams.ts";
import { redactUrl } from "../describe_store.ts";
import {
  type ByteRange,
  lengthOfByteRange,
  resolveByteRange,
  type StoreKey,
  type StoreOptions,
  type StoreVersion,
} from "../store.ts";
import type {
  HttpResponse,
  RequestOptions,
  RequestSender,
} from "./http_client.ts";

/** The statuses with which servers refuse `HEAD`, also for URLs that are signed for `GET` alone. */
const HEAD_REFUSED: readonly number[] = [403, 405, 501];

/** Takes a range from a response with the range alone, of this length, or else with the whole value. */
type TakeRange<T> = (
  response: HttpResponse,
  length?: number,
) => T | Promise<T>;

/** Requests one value. All methods return `undefined` for an absent value. */
export class HttpValue {
  readonly #key: StoreKey;
  readonly #sender: RequestSender;
  readonly #options: StoreOptions;

  constructor(sender: RequestSender, key: StoreKey, options: StoreOptions) {
    this.#key = key;
    this.#sender = sender;
    this.#options = options;
  }

  /** Reads the whole value, unless it is longer than `limit`. */
  async bytes(limit: number = Infinity): Promise<Uint8Array | undefined> {
    return await this.#send([200], {}, async (response) => {
      const bytes = await response.bytesUpTo(limit);
      if (bytes) return bytes;
      const length = response.contentLength ?? 0;
      const size = length > limit ? length : undefined;
      throw new SizeLimitError(this.#key, limit, size);
    });
  }

  /** Reads a range of the value. */
  async range(range: ByteRange): Promise<Uint8Array | undefined> {
    const bytes = await this.#requestRange(range, async (response, length) => {
      if (length === undefined) return await toBytes(cut(response, range));
      const bytes = await response.bytesUpTo(length);
      if (bytes?.length === length) return bytes;
      throw otherLengthError(response, length, bytes?.length ?? "more");
    });
    return bytes === "empty" ? new Uint8Array() : bytes;
  }

  /** Reads the value, or a range of it, as a stream. */
  async stream(
    range?: ByteRange,
  ): Promise<ReadableStream<Uint8Array> | undefined> {
    if (range === undefined) return (await this.#send([200]))?.stream();
    const stream = await this.#requestRange(
      range,
      (response, length) =>
        length === undefined
          ? cut(response, range)
          : response.stream().pipeThrough(exactly(length, response)),
    );
    return stream === "empty" ? new Blob().stream() : stream;
  }

  /**
   * Asks for the length of the value by a `HEAD` request or, if the server does not tell it
   * then, by a request for the first byte.
   */
  async size(): Promise<number | undefined> {
    const head = await this.#send([200, ...HEAD_REFUSED], {
      method: "HEAD",
      headers: { "accept-encoding": "identity" },
    });
    if (head === undefined) return undefined;
    await head.cancel();
    // Some servers answer HEAD with a length of 0, that of the empty body.
    if (head.status === 200 && head.contentLength) return head.contentLength;
    const range = { offset: 0, length: 1 };
    const size = await this.#sendRange(range, async (response) => {
      const { status, contentLength, contentRange, isEncoded } = response;
      if (status === 200 && contentLength === undefined && !isEncoded) {
        return await countBytes(response);
      }
      await response.cancel();
      if (status === 200) return contentLength ?? "encoded";
      if (status === 416 && !contentRange.size) return 0;
      if (status === 206 && contentRange.size !== undefined) {
        return lengthSent(response, range) && contentRange.size;
      }
      throw unexpectedRangeError(response, range);
    });
    return size === "encoded" ? await this.#send([200], {}, countBytes) : size;
  }

  /**
   * Asks for the headers of the value: by `HEAD` or, if they tell nothing then, by `GET`
   * without reading the body.
   */
  async validators(): Promise<Validators | undefined> {
    const revalidate = true;
    const head = await this.#send([200, ...HEAD_REFUSED], {
      method: "HEAD",
      revalidate,
    });
    await head?.cancel();
    const found = head?.status === 200 ? validatorsOf(head) : undefined;
    if (head === undefined || found && tellsVersion(found)) return found;
    const response = await this.#send([200], { revalidate });
    await response?.cancel();
    return response && validatorsOf(response);
  }

  async #requestRange<T>(
    range: ByteRange,
    take: TakeRange<T>,
  ): Promise<T | "empty" | undefined> {
    if (lengthOfByteRange(range) === 0) {
      // A Range header cannot ask for zero bytes.
      return await this.size() === undefined ? undefined : "empty";
    }
    const found = await this.#sendRange(range, async (response) => {
      const { status, isEncoded } = response;
      if (status === 206) {
        return { taken: await take(response, lengthSent(response, range)) };
      }
      if (status === 200 && !isEncoded) return { taken: await take(response) };
      await response.cancel();
      return { refused: response };
    });
    if (found === undefined || "taken" in found) return found?.taken;
    if (found.refused.status === 200) {
      // Only some runtimes decode the body of a response to a request for a range.
      return await this.#send([200], {}, take);
    }
    const size = await this.size();
    if (size === undefined) return undefined;
    const { start, end } = resolveByteRange(range, size);
    if (start < end) throw unexpectedRangeError(found.refused, range);
    return "empty";
  }

  #sendRange<T>(
    range: ByteRange,
    read: (response: HttpResponse) => Promise<T>,
  ): Promise<T | undefined> {
    const headers = { range: rangeHeader(range) };
    return this.#send([200, 206, 416], { headers }, read);
  }

  #send<T = HttpResponse>(
    statuses: readonly number[],
    init?: RequestOptions,
    read?: (response: HttpResponse) => T | Promise<T>,
  ): Promise<T | undefined> {
    return this.#sender.send(this.#key, this.#options, statuses, init, read);
  }
}

/** The `Range` header for a range of at least one byte. */
function rangeHeader(range: ByteRange): string {
  if ("suffixLength" in range) return `bytes=-${range.suffixLength}`;
  // Neither side counts exactly beyond 2^53−1.
  const last = Math.min(
    range.offset + range.length - 1,
    Number.MAX_SAFE_INTEGER,
  );
  return `bytes=${range.offset}-${last}`;
}

/**
 * The number of bytes that a response with status 206 says it sends. They must be exactly
 * those of the range; fewer only if the value is known to end there.
 */
function lengthSent(response: HttpResponse, range: ByteRange): number {
  const { first, last, size } = response.contentRange;
  let expected: { start: number; end: number } | undefined;
  if (size !== undefined) expected = resolveByteRange(range, size);
  else if ("offset" in range) {
    expected = { start: range.offset, end: range.offset + range.length };
  }
  const isExact = !response.isEncoded && first !== undefined &&
    first === expected?.start && last! + 1 === expected.end;
  if (!isExact) throw unexpectedRangeError(response, range);
  return last! + 1 - first;
}

/** The error for a response that does not belong to the range of its request. */
function unexpectedRangeError(response: HttpResponse, range: ByteRange): Error {
  const found = ["content-range", "content-encoding"]
    .map((name) => `${name} ${JSON.stringify(response.headers.get(name))}`);
  return new Error(
    `Expected ${redactUrl(response.request.url)} to answer the range ${
      rangeHeader(range)
    }, found status ${response.status} with ${found.join(" and ")}`,
  );
}

/** Cuts a range out of a response with the whole value. */
function cut(
  response: HttpResponse,
  range: ByteRange,
): ReadableStream<Uint8Array> {
  return endingBody(response).pipeThrough(rangeStream(range));
}

/** The longest body in bytes that is read to find its end, if nothing tells its length. */
const LONGEST_WITHOUT_LENGTH = 2 ** 30;

/** A body that fails once it is too long to be expected to end. */
function endingBody(response: HttpResponse): ReadableStream<Uint8Array> {
  const longest = response.contentLength ?? LONGEST_WITHOUT_LENGTH;
  let size = 0;
  const check = new TransformStream<Uint8Array, Uint8Array>({
    transform(piece, controller) {
      size += piece.length;
      if (size <= longest) return controller.enqueue(piece);
      throw new Error(
        `Expected ${
          redactUrl(response.request.url)
        } to tell its length, to answer ranges, or to end its body, found ${size} bytes without an end`,
      );
    },
  });
  return response.stream().pipeThrough(check);
}

/** Passes on a body, which must have a certain length. */
function exactly(
  length: number,
  response: HttpResponse,
): TransformStream<Uint8Array, Uint8Array> {
  let size = 0;
  return new TransformStream({
    transform(piece, controller) {
      size += piece.length;
      if (size > length) throw otherLengthError(response, length, "more");
      controller.enqueue(piece);
    },
    flush() {
      if (size < length) throw otherLengthError(response, length, size);
    },
  });
}

function otherLengthError(
  { request }: HttpResponse,
  length: number,
  found: number | "more",
): Error {
  return new Error(
    `Expected ${
      redactUrl(request.url)
    } to send ${length} bytes as its Content-Range says, found ${found}`,
  );
}

/** Reads a whole body to count its bytes: a server that compresses values tells no length. */
async function countBytes(response: HttpResponse): Promise<number> {
  let size = 0;
  const counter = new WritableStream<Uint8Array>({
    write(piece) {
      size += piece.length;
    },
  });
  await endingBody(response).pipeTo(counter);
  return size;
}

/**
 * The header with the identifier of the write that a value belongs to. Object stores send
 * it back as metadata of the object.
 */
export const GENERATION_HEADER = "x-amz-meta-zarr-parts-generation";

/** A later value may have the same `Last-Modified` as one that is younger, in milliseconds. */
const LEAST_AGE = 2000;

/** What the headers of a response tell about its value. */
export interface Validators {
  /** The write that the value belongs to. */
  readonly generation: string | undefined;
  /** The entity tag. Weak ones count as strong ones, since they only tell values apart. */
  readonly etag: string | undefined;
  /** `Last-Modified`, in milliseconds since 1970. */
  readonly modified: number | undefined;
  /** The length of the value in bytes, if `Content-Range` tells it. */
  readonly size: number | undefined;
  /**
   * The time from `Last-Modified` to `Date` in milliseconds, if the server tells both and no
   * generation.
   */
  readonly age: number | undefined;
}

function validatorsOf({ headers, contentRange }: HttpResponse): Validators {
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
    size: contentRange.size,
    age: generation === undefined && modified !== undefined &&
        served !== undefined
      ? served - modified
      : undefined,
  };
}

/**
 * The time in milliseconds until a value is old enough. None for one of the future, whose
 * writer has another clock.
 */
export function timeToAge({ age = LEAST_AGE }: Validators): number {
  return age < 0 ? 0 : Math.max(0, LEAST_AGE - age);
}

/** Whether a later value may have the same headers. */
function isYoung(value: Validators | undefined): boolean {
  return value?.age !== undefined && value.age < LEAST_AGE;
}

/** Whether a response tells enough to tell later values apart from this one. */
export function tellsVersion(
  { generation, etag, modified }: Validators,
): boolean {
  return (generation ?? etag ?? modified) !== undefined;
}

/** Whether nothing tells apart two responses to requests for one key. */
export function isSameValue(
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
 * Looks at what a response tells about its value, which is `undefined` for an absent one.
 *
 * @param read Reads the response.
 * @returns What `read` returns.
 */
type Watcher = <T>(
  key: StoreKey,
  value: Validators | undefined,
  read: () => Promise<T>,
  response?: HttpResponse,
) => Promise<T>;

/** Makes a sender whose responses are watched, unless they tell nothing about their values. */
export function watch(sender: RequestSender, watcher: Watcher): RequestSender {
  return {
    async send(key, options, statuses, init, read) {
      const watched = async (response: HttpResponse) => {
        const take = async () =>
          read ? await read(response) : response as never;
        return response.status < 300
          ? await watcher(key, validatorsOf(response), take, response)
          : await take();
      };
      return await sender.send(key, options, statuses, init, watched) ??
        await watcher(key, undefined, () => Promise.resolve(undefined));
    },
  };
}

/** What responses have told about the values of a snapshot; `undefined` for absent values. */
export type SeenValues = ReadonlyMap<StoreKey, Validators | undefined>;

/**
 * The version of a value over HTTP. If the snapshot did not read the value, the first
 * response that is of the same write completes the version.
 */
export class HttpVersion implements StoreVersion {
  /** The key of the value. */
  readonly key: StoreKey;
  readonly #seen: SeenValues;
  /** The key of the sequence part, which is the same as long as all values are. */
  readonly #sequenceKey: StoreKey;
  #completed: Validators | undefined;

  constructor(key: StoreKey, seen: SeenValues, sequenceKey: StoreKey) {
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
  isOther(value: Validators | undefined): boolean {
    const expected = this.#value ?? this.#sequence;
    return value === undefined || expected === undefined ||
      expected.generation !== value.generation ||
      this.#value !== undefined && !isSameValue(this.#value, value);
  }

  /** Takes a value that is not another one, if it is of the same write as the snapshot. */
  async complete(
    value: Validators,
    sender: RequestSender,
    options: StoreOptions,
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
        : await new HttpValue(sender, this.#sequenceKey, options).validators();
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
  sender: RequestSender,
  key: StoreKey,
  range: ByteRange,
  { signal }: StoreOptions = {},
): Promise<Uint8Array | undefined> {
  if (!(version instanceof HttpVersion) || version.key !== key) return;
  const options = signal ? { signal } : {};
  let found: Validators | undefined;
  const matching = watch(sender, (_, value, read) => {
    if (version.isOther(value)) throw new OtherVersionError();
    found = value;
    return read();
  });
  try {
    const bytes = await new HttpValue(matching, key, options).range(range);
    const isThis = found && await version.complete(found, sender, options);
    return isThis ? bytes : undefined;
  } catch (error) {
    if (error instanceof OtherVersionError) return undefined;
    throw error;
  }
}
