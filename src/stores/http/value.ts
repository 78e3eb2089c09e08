import { contentLength } from "./answer.ts";
import type { Requests } from "./requests.ts";
import { SizeLimitError } from "../size_limit_error.ts";
import type { GetOptions, StoreKey } from "../store.ts";

/** Fetches a whole value, unless it is longer than `limit`. */
export async function fetchValue(
  requests: Requests,
  key: StoreKey,
  options: GetOptions,
): Promise<Uint8Array | undefined> {
  const { limit } = options;
  const answer = await requests.send(key, options, [200]);
  if (!answer || limit === undefined) return answer?.bytes();
  const bytes = await answer.bytesUpTo(limit);
  if (bytes) return bytes;
  const length = contentLength(answer) ?? 0;
  throw new SizeLimitError(key, limit, length > limit ? length : undefined);
}
