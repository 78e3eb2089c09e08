import { assertEquals } from "@std/assert";
import { BoundedCache } from "../../src/serve/chunk_values.ts";

/** A cache of numbers that weigh their value, and the entries that it has removed. */
function cacheOf(
  options: { lifetime: number; limit: number },
): { cache: BoundedCache<number>; removed: string[] } {
  const removed: string[] = [];
  const cache = new BoundedCache<number>({
    ...options,
    weightOf: (value) => value,
    onRemoval: (key, value) => removed.push(`${key}${value}`),
  });
  return { cache, removed };
}

Deno.test("BoundedCache removes the entries that were used the longest time ago", () => {
  const { cache, removed } = cacheOf({ lifetime: Infinity, limit: 10 });
  cache.set("a", 4);
  cache.set("b", 6);
  assertEquals(removed, []);
  assertEquals(cache.get("a"), 4);
  cache.set("c", 1);
  assertEquals(removed, ["b6"]);
  cache.set("a", 5);
  assertEquals(removed, ["b6", "a4"]);
  cache.set("d", 9);
  assertEquals(removed, ["b6", "a4", "c1", "a5"]);
  assertEquals(cache.get("d"), 9);
  cache.set("e", 11);
  assertEquals(removed.slice(4), ["d9", "e11"]);
  for (const key of ["a", "b", "c", "d", "e"]) {
    assertEquals(cache.get(key), undefined);
  }
  cache.set("f", 10);
  assertEquals(cache.get("f"), 10);
});

Deno.test("BoundedCache removes entries at the end of their lifetime", () => {
  const { now } = Date;
  try {
    Date.now = () => 1000;
    const { cache, removed } = cacheOf({ lifetime: 50, limit: 10 });
    cache.set("a", 1);
    Date.now = () => 1049;
    assertEquals(cache.get("a"), 1);
    Date.now = () => 1050;
    assertEquals(cache.get("a"), undefined);
    assertEquals(removed, ["a1"]);
    const nothing = cacheOf({ lifetime: 0, limit: 10 });
    nothing.cache.set("a", 1);
    assertEquals(nothing.cache.get("a"), undefined);
  } finally {
    Date.now = now;
  }
});
