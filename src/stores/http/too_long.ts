import { SizeLimitError } from "../../errors/mod.ts";
import type { StoreKey } from "../store.ts";
import { contentLength } from "./answer_head.ts";
import type { Answer } from "./exchange.ts";

/** Creates an error for a value that is longer than `limit`. */
export function tooLong(
  key: StoreKey,
  limit: number,
  answer: Answer,
): SizeLimitError {
  const length = contentLength(answer) ?? 0;
  return new SizeLimitError(key, limit, length > limit ? length : undefined);
}
