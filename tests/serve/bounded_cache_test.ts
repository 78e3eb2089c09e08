import { assertEquals } from "@std/assert";
import { BoundedCache } from "../../src/serve/shown_store.ts";
import { fakeClock } from "../support/fake_clock.ts";

Deno.test("BoundedCache removes entries that are too heavy together, least recently used first, or too old", async () => {
  using _clock = fakeClock();
  const removed: string[] = [];
  const cache = new BoundedCache<number>({
    lifetime: 50,
    limit: 10,
    weightOf: (value) => value,
    onRemoval: (key, value) => removed.push(`${key}${value}`),
  });
  cache.set("a", 4);
  cache.set("b", 6);
  assertEquals([cache.get("a"), removed], [4, []]);
  cache.set("c", 1);
  cache.set("a", 5);
  cache.set("d", 9);
  cache.set("e", 11);
  assertEquals(removed, ["b6", "a4", "c1", "a5", "d9", "e11"]);
  cache.set("f", 10);
  assertEquals(["a", "e", "f"].map((key) => cache.get(key)), [
    undefined,
    undefined,
    10,
  ]);
  await new Promise((resolve) => setTimeout(resolve, 50));
  assertEquals(cache.get("f"), undefined);
  assertEquals(removed.at(-1), "f10");
});
