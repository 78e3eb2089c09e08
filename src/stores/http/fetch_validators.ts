import type { Answer, Requests } from "./exchange.ts";
import { HEAD_REFUSED } from "./size.ts";
import type { StoreKey, StoreOptions } from "../store.ts";
import { tellsVersion, type Validators, validatorsOf } from "./validators.ts";

/**
 * Asks for the headers of a value: by `HEAD` or, where the answer does not tell
 * versions apart, by `GET` without reading the body. Returns `undefined` for an absent
 * value.
 */
export async function fetchValidators(
  requests: Requests,
  key: StoreKey,
  options: StoreOptions,
): Promise<Validators | undefined> {
  const head = await requests.send(key, options, [200, ...HEAD_REFUSED], {
    method: "HEAD",
    revalidate: true,
  });
  await head?.cancel();
  if (head?.status === 200 && tellsVersion(validatorsOf(head))) {
    return validatorsOf(head);
  }
  const answer = await requests.send(key, options, [200], { revalidate: true });
  await answer?.cancel();
  return answer && validatorsOf(answer);
}

/** Whether an answer tells about a value, and not that `HEAD` is refused. */
export function isAboutValue({ status }: Answer): boolean {
  return !HEAD_REFUSED.includes(status);
}

/**
 * Reads what an answer tells about the version of a value, or asks for it where the
 * status 416 hides it. Returns `undefined` for an absent value.
 */
export async function identify(
  answer: Answer,
  requests: Requests,
  key: StoreKey,
  options: StoreOptions,
): Promise<Validators | undefined> {
  const value = validatorsOf(answer);
  return answer.status === 416 && !tellsVersion(value)
    ? await fetchValidators(requests, key, options)
    : value;
}
