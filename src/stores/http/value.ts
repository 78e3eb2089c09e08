import type { Requests } from "./exchange.ts";
import { loadOnFirstUse } from "./load_on_first_use.ts";
import { readWhole } from "./read_whole.ts";
import type { GetOptions, StoreKey } from "../store.ts";

/** Fetches a whole value, unless it is longer than `limit`. */
export function fetchValue(
  requests: Requests,
  key: StoreKey,
  options: GetOptions,
): Promise<Uint8Array | undefined> {
  const { limit = Infinity } = options;
  return readWhole(requests, options, async () => {
    const answer = await requests.send(key, options, [200]);
    const bytes = await answer?.bytesUpTo(limit);
    if (!answer || bytes) return bytes;
    const { tooLong } = await loadOnFirstUse();
    throw tooLong(key, limit, answer);
  });
}
