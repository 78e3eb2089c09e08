import type { Answer } from "./exchange.ts";
import { contentLength } from "./answer_head.ts";
import { SizeLimitError } from "../size_limit_error.ts";
import type { StoreKey } from "../store.ts";

/** Creates an error for a value that is longer than `limit`. */
export function tooLong(
  key: StoreKey,
  limit: number,
  answer: Answer,
): SizeLimitError {
  const length = contentLength(answer) ?? 0;
  return new SizeLimitError(key, limit, length > limit ? length : undefined);
}
