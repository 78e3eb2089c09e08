import { contentLength } from "./answer.ts";
import type { Requests } from "./requests.ts";
import { loadOnce } from "../load_once.ts";
import type { StoreKey, StoreOptions } from "../store.ts";

/** Loads what only few servers need, as they do not support `HEAD` or ranges in full. */
export const loadFallback: () => Promise<typeof import("./fallback.ts")> =
  /* @__PURE__ */ loadOnce(() => import("./fallback.ts"));

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
  const { fetchSizeByRange } = await loadFallback();
  return await fetchSizeByRange(requests, key, options);
}
