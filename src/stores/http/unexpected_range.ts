import type { ByteRange } from "../store.ts";
import type { Answer } from "./answer.ts";
import { rangeHeader } from "./content_range.ts";

/** An error for an answer that is not one to the range of its request. */
export function unexpectedRange(answer: Answer, range: ByteRange): Error {
  const found = ["content-range", "content-encoding"]
    .map((name) => `${name} ${JSON.stringify(answer.headers.get(name))}`);
  return new Error(
    `Expected ${answer.url} to answer the range ${
      rangeHeader(range)
    }, found status ${answer.status} with ${found.join(" and ")}`,
  );
}

/**
 * An error for an answer with status 206 to a range, of which `length` bytes should be
 * sent. The length is `undefined` if the answer is not one to the range.
 */
export function rangeError(
  answer: Answer,
  range: ByteRange,
  length: number | undefined,
  bytes: Uint8Array | undefined,
): Error {
  if (length === undefined) return unexpectedRange(answer, range);
  return new Error(
    `Expected ${answer.url} to send ${length} bytes as its Content-Range says, found ${
      bytes?.length ?? "more"
    }`,
  );
}
