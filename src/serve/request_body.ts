import { SizeLimitError } from "../stores/size_limit_error.ts";
import type { StoreKey } from "../stores/store.ts";
import type { Deadline } from "./deadline.ts";

/** The longest time of a timer in milliseconds. */
const LONGEST = 2 ** 31 - 1;

/** A client did not send the body that it announced. */
export class BodyError extends Error {
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
export function readBody(
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
export function announcedLength(headers: Headers): number | undefined {
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
