import { redactUrl } from "../capabilities.ts";
import type { ByteRange } from "../store.ts";
import { rangeHeader } from "./content_range.ts";
import type { Answer } from "./exchange.ts";

/** An error for an answer that is not one to the range of its request. */
export function unexpectedRange(answer: Answer, range: ByteRange): Error {
  const found = ["content-range", "content-encoding"]
    .map((name) => `${name} ${JSON.stringify(answer.headers.get(name))}`);
  return new Error(
    `Expected ${redactUrl(answer.request.url)} to answer the range ${
      rangeHeader(range)
    }, found status ${answer.status} with ${found.join(" and ")}`,
  );
}
