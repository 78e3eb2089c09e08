import { assertEquals } from "@std/assert";
import type { ByteRange, Store, StoreKey } from "../../mod.ts";
import { sliced } from "../stores/sliced.ts";
import { listed, readAll } from "../stores/store_values.ts";

/** Asserts that all methods of a store read the same value under a key. */
export async function assertReadsSame(
  store: Required<Pick<Store, "get" | "getRange" | "stream" | "size">>,
  key: StoreKey,
  expected: Uint8Array | undefined,
): Promise<void> {
  assertEquals(await store.get(key), expected, key);
  assertEquals(await store.size(key), expected?.length, key);
  assertEquals(await readAll(await store.stream(key)), expected, key);
  for (const range of rangesOf(expected?.length ?? 2)) {
    assertEquals(
      await store.getRange(key, range),
      expected && sliced(expected, range),
      `${key} ${JSON.stringify(range)}`,
    );
  }
}

/** Asserts that two stores list the same keys, for every prefix of every key. */
export async function assertListsSame(
  store: Store,
  expected: Store,
): Promise<void> {
  const keys = await listed(expected);
  const prefixes = new Set<StoreKey>(["/nothing", "/c/", "/c/0/", "/a/c/0/1"]);
  for (const key of keys) {
    const letters = [...key]; // No prefix ends within a letter.
    for (let end = 1; end <= letters.length; end++) {
      prefixes.add(letters.slice(0, end).join("") as StoreKey);
    }
    prefixes.add(`${key}/`);
  }
  assertEquals(await listed(store), keys);
  for (const prefix of prefixes) {
    assertEquals(
      await listed(store, prefix),
      keys.filter((key) => key.startsWith(prefix)),
      prefix,
    );
  }
}

function rangesOf(length: number): ByteRange[] {
  const most = Number.MAX_SAFE_INTEGER;
  return [
    { offset: 0, length: 0 },
    { offset: 0, length: 1 },
    { offset: 1, length: length },
    { offset: length >> 1, length: 3 },
    { offset: length, length: 1 },
    { offset: 0, length: most },
    { offset: most, length: most },
    { suffixLength: 0 },
    { suffixLength: 1 },
    { suffixLength: length },
    { suffixLength: length + 1 },
  ];
}
