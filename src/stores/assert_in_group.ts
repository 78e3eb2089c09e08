import type { StoreKey } from "./store.ts";

/** Refuses a key that is none of a group's. */
export function assertInGroup(
  keys: readonly StoreKey[],
  key: StoreKey,
): void {
  if (keys.includes(key)) return;
  throw new RangeError(
    `Expected one of the keys of the group, ${JSON.stringify(keys)}, found ${
      JSON.stringify(key)
    }`,
  );
}

/** Refuses to store a group if one of its values was not given. */
export function assertAllGiven(
  keys: readonly StoreKey[],
  given: ReadonlyMap<StoreKey, unknown>,
): void {
  const missing = keys.filter((key) => !given.has(key));
  if (missing.length === 0) return;
  throw new TypeError(
    `Expected a value for each key of the group, found none for ${
      JSON.stringify(missing)
    }`,
  );
}
