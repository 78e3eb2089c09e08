import { PartSizeError } from "../splitter/part_size_error.ts";
import { MetadataError } from "../metadata/metadata_error.ts";
import { remove, write } from "../stores/capabilities.ts";
import { SizeLimitError } from "../stores/size_limit_error.ts";
import type { StoreKey } from "../stores/store.ts";
import { isDocument } from "../views/view_documents.ts";
import type { Answer } from "./answer.ts";
import { failedCondition } from "./conditions.ts";
import type { Deadline } from "./deadline.ts";
import { isOfNoValue, publicReason } from "./failure.ts";
import type { ParsedOptions } from "./parse_options.ts";
import { announcedLength, BodyError, readBody } from "./request_body.ts";
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

/** A condition of a request does not hold. */
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
    error instanceof MetadataError && isDocument(key);
  return isUnfit ? 400 : undefined;
}
