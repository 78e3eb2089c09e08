import { lengthOfByteRange } from "../byte_range.ts";
import {
  answeredLength,
  parseContentRange,
  rangeHeader,
} from "./content_range.ts";
import { type Answer, isEncoded } from "./answer.ts";
import type { Requests } from "./requests.ts";
import { loadOnFirstUse } from "./load_on_first_use.ts";
import type { ByteRange, StoreKey, StoreOptions } from "../store.ts";

/** Fetches a range of a value with a `Range` request. */
export async function fetchRange(
  requests: Requests,
  key: StoreKey,
  range: ByteRange,
  options: StoreOptions,
): Promise<Uint8Array | undefined> {
  if (lengthOfByteRange(range) === 0) {
    // A Range header cannot ask for zero bytes.
    const { fetchSize } = await loadOnFirstUse();
    const size = await fetchSize(requests, key, options);
    return size === undefined ? undefined : new Uint8Array();
  }
  const answer = await requests.send(key, options, [200, 206, 416], {
    headers: { range: rangeHeader(range) },
  });
  switch (answer?.status) {
    case 200: {
      const { cutWhole } = await loadOnFirstUse();
      return await cutWhole(requests, key, range, answer, options);
    }
    case 206:
      return await partialBody(answer, range);
    case 416: {
      const { emptyRange } = await loadOnFirstUse();
      return await emptyRange(requests, key, range, answer, options);
    }
  }
}

/** The bytes of an answer with status 206, once they are known to be those of the range. */
async function partialBody(
  answer: Answer,
  range: ByteRange,
): Promise<Uint8Array> {
  const length = isEncoded(answer)
    ? undefined
    : answeredLength(range, parseContentRange(answer.headers));
  const bytes = length === undefined
    ? undefined
    : await answer.bytesUpTo(length);
  if (bytes && bytes.length === length) return bytes;
  if (length === undefined) await answer.cancel();
  const { rangeError } = await loadOnFirstUse();
  throw rangeError(answer, range, length, bytes);
}
