import { redactUrl } from "../capabilities.ts";
import {
  type ByteRange,
  resolveByteRange,
  type StoreKey,
  type StoreOptions,
} from "../store.ts";
import { isEncoded } from "./answer_head.ts";
import { answeredLength, parseContentRange } from "./content_range.ts";
import type { Answer, Requests } from "./exchange.ts";
import { cutWhole } from "./fallback.ts";
import { fetchSize } from "./size.ts";
import { unexpectedRange } from "./unexpected_range.ts";

/**
 * The bytes of a range that the server did not simply send.
 *
 * @param answer The answer to the request for the range; `null` if none was made, since
 * the range is empty.
 * @param bytes The bytes of an answer with status 206, if they were read.
 */
export async function unusualRange(
  requests: Requests,
  key: StoreKey,
  range: ByteRange,
  options: StoreOptions,
  answer: Answer | null,
  bytes: Uint8Array | undefined,
): Promise<Uint8Array | undefined> {
  if (answer === null) {
    const size = await fetchSize(requests, key, options);
    return size === undefined ? undefined : new Uint8Array();
  }
  switch (answer.status) {
    case 200:
      return await cutWhole(requests, key, range, answer, options);
    case 416:
      return await emptyRange(requests, key, range, answer, options);
    default:
      throw await rangeError(answer, range, bytes);
  }
}

/** The result for a range that starts past the end of the value, as status 416 says. */
async function emptyRange(
  requests: Requests,
  key: StoreKey,
  range: ByteRange,
  answer: Answer,
  options: StoreOptions,
): Promise<Uint8Array | undefined> {
  await answer.cancel();
  const size = parseContentRange(answer.headers).size ??
    await fetchSize(requests, key, options);
  if (size === undefined) return undefined;
  const { start, end } = resolveByteRange(range, size);
  if (start < end) throw unexpectedRange(answer, range);
  return new Uint8Array();
}

/** Creates an error for an answer with status 206 whose bytes are not those of the range. */
async function rangeError(
  answer: Answer,
  range: ByteRange,
  bytes: Uint8Array | undefined,
): Promise<Error> {
  const length = isEncoded(answer)
    ? undefined
    : answeredLength(range, parseContentRange(answer.headers));
  if (length === undefined) {
    await answer.cancel();
    return unexpectedRange(answer, range);
  }
  return new Error(
    `Expected ${
      redactUrl(answer.request.url)
    } to send ${length} bytes as its Content-Range says, found ${
      bytes?.length ?? "more"
    }`,
  );
}
