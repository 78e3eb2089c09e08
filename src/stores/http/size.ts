import { contentLength } from "./answer_head.ts";
import type { Requests } from "./exchange.ts";
import { fetchSizeByRange } from "./fallback.ts";
import type { StoreKey, StoreOptions } from "../store.ts";

/** The statuses of servers, and of URLs signed for GET alone, that refuse HEAD. */
export const HEAD_REFUSED: readonly number[] = [403, 405, 501];

/**
 * Asks for the length of a value by a `HEAD` request or, where the answer does not
 * tell, by a request for the first byte.
 */
export async function fetchSize(
  requests: Requests,
  key: StoreKey,
  options: StoreOptions,
): Promise<number | undefined> {
  const answer = await requests.send(
    key,
    options,
    [200, ...HEAD_REFUSED],
    { method: "HEAD", headers: { "accept-encoding": "identity" } },
  );
  if (answer === undefined) return undefined;
  await answer.cancel();
  // Some servers answer HEAD with a length of 0, that of the empty body.
  const size = answer.status === 200 && contentLength(answer);
  if (size) return size;
  return await fetchSizeByRange(requests, key, options);
}
