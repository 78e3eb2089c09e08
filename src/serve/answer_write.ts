import { MetadataError, PartSizeError, SizeLimitError } from "../errors/mod.ts";
import { remove, type StoreKey, write } from "../stores/mod.ts";
import { isAnyDocument } from "../views/mod.ts";
import type { Answer } from "./answer_read.ts";
import { failedCondition } from "./conditions.ts";
import type { Deadline } from "./deadline.ts";
import { isOfNoValue, publicReason } from "./failure.ts";
import type { ParsedOptions } from "./handler_options.ts";
import type { ShownStore } from "./shown_store.ts";

/** Answers `PUT` and `DELETE`. */
export async function answerWrite(
  shown: ShownStore,
  key: StoreKey,
  request: Request,
  deadline: Deadline,
  options: ParsedOptions,
): Promise<Answer> {
  const { headers, method } = request;
  const { authorize, limit, timeout } = options.write!;
  const refusal = await isAllowed(authorize, key, request, options.onError)
    ? refusalOf(headers, limit)
    : { status: 403, body: "The request is not allowed to change the value\n" };
  if (refusal !== undefined) return refusal;
  try {
    const change = { shown, key, request, deadline, timeout };
    if (method === "DELETE") {
      await removeValue(change);
      return { status: 204 };
    }
    const pause = options.timeout;
    const isPresent = await putValue(change, { limit, pause });
    return { status: isPresent ? 204 : 201 };
  } catch (error) {
    const status = statusOf(error, key, method);
    if (status === undefined) throw error;
    const text = status === 409
      ? `The store can hold no value under ${key}: the key is that of a folder, lies below that of a file, or is too long`
      : publicReason(error as Error, key) ?? `The value does not fit ${key}`;
    return { status, body: `${text}\n` };
  } finally {
    shown.forget(key);
  }
}

async function isAllowed(
  authorize: NonNullable<ParsedOptions["write"]>["authorize"],
  key: StoreKey,
  request: Request,
  onError: ParsedOptions["onError"],
): Promise<boolean> {
  try {
    return await authorize(request, key) === true;
  } catch (error) {
    onError(error, request);
    return false;
  }
}

/** Returns the answer to a request that cannot be carried out, by its headers. */
function refusalOf(headers: Headers, limit: number): Answer | undefined {
  if (headers.has("content-range")) {
    return {
      status: 400,
      body: "Expected the whole value, found Content-Range\n",
    };
  }
  if ((headers.get("content-encoding") ?? "identity") !== "identity") {
    return { status: 415, body: "Expected a body without Content-Encoding\n" };
  }
  const length = announcedLength(headers) ?? 0;
  if (length <= limit) return undefined;
  return {
    status: 413,
    body: `Expected a body of at most ${limit} bytes, found ${length}\n`,
  };
}

/** A value that a request changes. */
interface Change {
  readonly shown: ShownStore;
  readonly key: StoreKey;
  readonly request: Request;
  readonly deadline: Deadline;
  /** How long the store may take to change the value, in milliseconds. */
  readonly timeout: number;
}

/** Thrown if a condition of a request does not hold. */
class ConditionError extends Error {}

/**
 * Evaluates the conditions of a request.
 *
 * @returns Whether the value is present.
 * @throws {ConditionError} If a condition does not hold.
 */
async function evaluate(
  { shown, key, request: { headers }, deadline }: Change,
): Promise<boolean> {
  shown.forget(key); // A kept version may be that of an earlier value.
  const value = await shown.find(key, undefined, deadline);
  value?.release();
  const failed = value === undefined
    ? headers.has("if-match")
    : failedCondition(headers, false, value.validators) !== undefined;
  if (failed) {
    throw new ConditionError("A condition of the request does not hold");
  }
  return value !== undefined;
}

async function removeValue(change: Change): Promise<void> {
  const { shown, key, deadline, timeout } = change;
  const end = await deadline.run(
    (options) => shown.beginChange(key, options),
    timeout,
  );
  try {
    await evaluate(change);
    const target = await shown.target(key, deadline);
    await deadline.run((options) => remove(target, key, options), timeout);
  } finally {
    end();
  }
}

/**
 * Stores the body of a request. Requests may send bodies for the same value at the same
 * time: at the end of its body, each evaluates its conditions again, and replaces the
 * value before the next one does so.
 *
 * @param options `pause`: the longest pause of the client, in milliseconds.
 * @returns Whether the value was present.
 */
async function putValue(
  change: Change,
  { limit, pause }: { limit: number; pause: number },
): Promise<boolean> {
  const { shown, key, request, deadline, timeout } = change;
  let isPresent = await evaluate(change); // Before the client sends all of the body.
  const target = await shown.target(key, deadline);
  let end: (() => void) | undefined;
  const body = readBody(
    request,
    { key, limit, timeout: pause, deadline },
    async () => {
      end = await deadline.run(
        (options) => shown.beginChange(key, options),
        timeout,
      );
      isPresent = await evaluate(change);
    },
  );
  await deadline.run(
    (options) => write(target, key, body, options).finally(() => end?.()),
    timeout,
  );
  return isPresent;
}

/** Returns the status of an error that the client made; `undefined` for other errors. */
function statusOf(
  error: unknown,
  key: StoreKey,
  method: string,
): number | undefined {
  if (error instanceof BodyError) return error.status;
  if (method === "PUT" && isOfNoValue(error)) return 409;
  if (error instanceof ConditionError) return 412;
  if (error instanceof SizeLimitError) return 413;
  // The value does not fit the parts of its array, or lies outside of the chunk grid.
  const isUnfit = error instanceof PartSizeError ||
    error instanceof RangeError ||
    error instanceof MetadataError && isAnyDocument(key);
  return isUnfit ? 400 : undefined;
}

/** The longest time of a timer in milliseconds. */
const LONGEST = 2 ** 31 - 1;

/** Thrown if a client did not send the body that it announced. */
class BodyError extends Error {
  readonly status: 400 | 408;

  constructor(status: 400 | 408, message: string, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}

/**
 * Passes on the body of a request. More bytes than `limit` are a `SizeLimitError` of the
 * stream; fewer than `Content-Length`, and a client that pauses for too long, are a
 * `BodyError`.
 *
 * @param options `timeout`: the longest pause in milliseconds; `deadline`, which does not
 * count the time of the client.
 * @param ended Called at the end of the body, before the stream ends.
 */
function readBody(
  { body, headers }: Request,
  { key, limit, timeout, deadline }: {
    key: StoreKey;
    limit: number;
    timeout: number;
    deadline: Deadline;
  },
  ended: () => Promise<void>,
): ReadableStream<Uint8Array> {
  const reader = body?.getReader();
  // A store that stalls may hold the stream for ever.
  deadline.signal.addEventListener("abort", () => {
    reader?.cancel().catch(() => {});
  });
  const announced = announcedLength(headers);
  let length = 0;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { value } = await deadline.waitForClient(() =>
        readInTime(reader, timeout)
      );
      if (value !== undefined) {
        length += value.length;
        if (length <= limit) return controller.enqueue(value);
        await reader?.cancel().catch(() => {});
        throw new SizeLimitError(key, limit);
      }
      if (announced !== undefined && announced !== length) {
        throw new BodyError(
          400,
          `Expected a body of ${announced} bytes, found ${length}`,
        );
      }
      await ended();
      controller.close();
    },
    async cancel(reason) {
      await reader?.cancel(reason);
    },
  }, { highWaterMark: 0 });
}

/** Returns the length that a request announces, if it does. */
function announcedLength(headers: Headers): number | undefined {
  const length = headers.get("content-length");
  return length === null ? undefined : Number(length);
}

async function readInTime(
  reader: ReadableStreamDefaultReader<Uint8Array> | undefined,
  timeout: number,
): Promise<{ value?: Uint8Array | undefined }> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new BodyError(408, `No bytes of the body came for ${timeout} ms`));
      reader?.cancel().catch(() => {});
    }, Math.min(timeout, LONGEST));
  });
  try {
    return await Promise.race([reader?.read() ?? {}, late]);
  } catch (error) {
    if (error instanceof BodyError) throw error;
    throw new BodyError(400, "The body of the request ended early", {
      cause: error,
    });
  } finally {
    clearTimeout(timer);
  }
}
