import {
  answeredLength,
  parseContentRange,
  rangeHeader,
} from "./content_range.ts";
import { contentLength, unexpectedRange } from "./http_answer.ts";
import type { HttpRequests } from "./http_requests.ts";
import type { StoreKey, StoreOptions } from "./store.ts";

/** The statuses of servers, and of URLs signed for GET alone, that refuse HEAD. */
const HEAD_REFUSED = [403, 405, 501];

/**
 * Asks for the length of a value by a `HEAD` request or, where the answer does not
 * tell, by a request for the first byte.
 */
export async function fetchSize(
  requests: HttpRequests,
  key: StoreKey,
  options: StoreOptions,
): Promise<number | undefined> {
  const answer = await requests.send(
    key,
    options,
    [200, ...HEAD_REFUSED],
    { "accept-encoding": "identity" },
    "HEAD",
  );
  if (answer === undefined) return undefined;
  await answer.body.cancel();
  // Some servers answer HEAD with a length of 0, that of the empty body.
  const size = answer.status === 200 && contentLength(answer);
  return size || await fetchSizeByRange(requests, key, options);
}

async function fetchSizeByRange(
  requests: HttpRequests,
  key: StoreKey,
  options: StoreOptions,
): Promise<number | undefined> {
  const range = { offset: 0, length: 1 };
  const answer = await requests.send(key, options, [200, 206, 416], {
    range: rangeHeader(range),
  });
  if (answer === undefined) return undefined;
  if (answer.status === 200 && contentLength(answer) === undefined) {
    const value = await requests.wholeBody(key, answer, options);
    return value && await count(value);
  }
  await answer.body.cancel();
  if (answer.status === 200) return contentLength(answer);
  const content = parseContentRange(answer.headers);
  if (answer.status === 416 && !content.size) return 0;
  if (
    answer.status === 206 && content.size !== undefined &&
    answeredLength(range, content) !== undefined
  ) return content.size;
  throw unexpectedRange(answer, range);
}

async function count(stream: ReadableStream<Uint8Array>): Promise<number> {
  let size = 0;
  await stream.pipeTo(
    new WritableStream({
      write(chunk) {
        size += chunk.length;
      },
    }),
  );
  return size;
}
