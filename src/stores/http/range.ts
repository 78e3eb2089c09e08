import {
  type ByteRange,
  lengthOfByteRange,
  type StoreKey,
  type StoreOptions,
} from "../store.ts";
import { isEncoded } from "./answer_head.ts";
import {
  answeredLength,
  parseContentRange,
  rangeHeader,
} from "./content_range.ts";
import type { Requests } from "./exchange.ts";
import { loadOnFirstUse } from "./load_on_first_use.ts";
import { readWhole } from "./read_whole.ts";

/** Fetches a range of a value with a `Range` request. */
export function fetchRange(
  requests: Requests,
  key: StoreKey,
  range: ByteRange,
  options: StoreOptions,
): Promise<Uint8Array | undefined> {
  return readWhole(requests, options, async () => {
    // A Range header cannot ask for zero bytes.
    const answer = lengthOfByteRange(range) > 0
      ? await requests.send(key, options, [200, 206, 416], {
        headers: { range: rangeHeader(range) },
      })
      : null;
    if (answer === undefined) return;
    let bytes: Uint8Array | undefined;
    if (answer?.status === 206 && !isEncoded(answer)) {
      const length = answeredLength(range, parseContentRange(answer.headers));
      bytes = length === undefined ? length : await answer.bytesUpTo(length);
      if (bytes && bytes.length === length) return bytes;
    }
    const { unusualRange } = await loadOnFirstUse();
    return await unusualRange(requests, key, range, options, answer, bytes);
  });
}
