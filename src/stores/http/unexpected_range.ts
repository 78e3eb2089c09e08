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

/** An error for an answer with more or fewer bytes than its `Content-Range` says. */
export function unexpectedLength(
  answer: Answer,
  length: number,
  bytes: Uint8Array | undefined,
): Error {
  return new Error(
    `Expected ${answer.url} to send ${length} bytes as its Content-Range says, found ${
      bytes?.length ?? "more"
    }`,
  );
}
