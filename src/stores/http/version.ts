import { pause } from "../../runtime/mod.ts";
import type {
  ByteRange,
  StoreKey,
  StoreOptions,
  StoreVersion,
} from "../store.ts";
import type { Requests } from "./exchange.ts";
import { fetchValidators, identify, isAboutValue } from "./fetch_validators.ts";
import { fetchRange } from "./range.ts";
import {
  isSameValue,
  isSettled,
  isUnchanged,
  tellsVersion,
  type Validators,
  youthOf,
} from "./validators.ts";

/**
 * The version of a value over HTTP. If the group did not read the value, the first
 * response that is of the same write as the group's last value completes the version.
 */
export class HttpVersion implements StoreVersion {
  readonly isLasting = true;
  readonly #found: ReadonlyMap<StoreKey, Validators | undefined>;
  readonly #last: StoreKey;
  /** The key of the value. */
  readonly key: StoreKey;
  #expected: Validators | undefined;

  /**
   * @param found What the responses tell that the group has received when it was read.
   * @param last The last key of the group.
   */
  constructor(
    found: ReadonlyMap<StoreKey, Validators | undefined>,
    last: StoreKey,
    key: StoreKey,
  ) {
    this.#found = found;
    this.#last = last;
    this.key = key;
  }

  release(): void {}

  /** The validators of a response with this version, once they are known. */
  get expected(): Validators | undefined {
    return this.#expected ??= this.#found.get(this.key);
  }

  /** The length of the value, as `Content-Range` of a response told it. */
  get size(): number | undefined {
    return this.expected?.size;
  }

  /** Values that were written a moment ago have no tag, since later ones may have the same headers. */
  get tag(): string | undefined {
    const value = this.expected;
    if (value === undefined || value.generation !== undefined) {
      return value?.generation;
    }
    return !tellsVersion(value) || youthOf(value) > 0
      ? undefined
      : `${value.etag?.slice(1, -1) ?? ""}-${value.modified ?? ""}`;
  }

  get modified(): number | undefined {
    return this.expected?.modified;
  }

  /** Whether a response has this version. */
  async matches(
    value: Validators,
    requests: Requests,
    options: StoreOptions,
  ): Promise<boolean> {
    if (this.expected === undefined) {
      if (!await this.#isOfSameWrite(value, requests, options)) return false;
      this.#expected ??= value;
    }
    return isSameValue(this.expected!, value);
  }

  /** Whether the value is of the same write as the last value of the group, whose headers are known. */
  async #isOfSameWrite(
    value: Validators,
    requests: Requests,
    { signal }: StoreOptions,
  ): Promise<boolean> {
    if (this.#found.size === 0) return true;
    const last = this.#found.get(this.#last);
    if (last === undefined || last.generation !== value.generation) {
      return false;
    }
    const isKnown = last.generation !== undefined || !tellsVersion(last) ||
      !tellsVersion(value) || isSettled(last, value);
    if (isKnown) return true;
    const again = await fetchValidators(
      requests,
      this.#last,
      signal ? { signal } : {},
    );
    if (again === undefined) return false;
    if (youthOf(last) === 0) return isUnchanged(last, value, again);
    // So that the next reading of the group finds a value that is old enough.
    await pause(youthOf(again), signal);
    return false;
  }
}

/** Fetches a range of one version of a value; returns `undefined` if the value is another. */
export async function fetchRangeOf(
  version: StoreVersion,
  requests: Requests,
  key: StoreKey,
  range: ByteRange,
  options: StoreOptions,
): Promise<Uint8Array | undefined> {
  if (!(version instanceof HttpVersion) || version.key !== key) {
    return undefined;
  }
  let isOther = false;
  const matching: Requests = {
    policy: requests.policy,
    async send(...request) {
      const answer = await requests.send(...request);
      if (answer === undefined || !isAboutValue(answer)) return answer;
      const value = await identify(answer, requests, key, options);
      if (value && await version.matches(value, requests, options)) {
        return answer;
      }
      isOther = true;
      await answer.cancel();
      return undefined;
    },
  };
  const bytes = await fetchRange(matching, key, range, options);
  return isOther ? undefined : bytes;
}
