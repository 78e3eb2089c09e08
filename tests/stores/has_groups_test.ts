import { assertEquals } from "@std/assert";
import {
  ConcatParts,
  FileSystemStore,
  HttpStore,
  MemoryStore,
  type Store,
  type StoreKey,
  type StoreOptions,
} from "../../mod.ts";
import { hasGroups } from "../../src/stores/capabilities.ts";

/** Counts the values that are read. */
class CountingStore extends MemoryStore {
  reads = 0;

  override get(
    key: StoreKey,
    options?: StoreOptions,
  ): Promise<Uint8Array | undefined> {
    this.reads++;
    return super.get(key, options);
  }
}

/** Counts the values that are read, in groups too. */
class CountingGroups extends CountingStore {
  override group(
    key: StoreKey,
    keys: readonly StoreKey[],
  ): ReturnType<MemoryStore["group"]> {
    this.reads += keys.length;
    return super.group(key, keys);
  }
}

class NamedStore extends MemoryStore {
  override toString(): string {
    return "NamedStore";
  }
}

function withOwnGet(): Store {
  const store = new MemoryStore();
  const { get } = MemoryStore.prototype;
  store.get = (key, options) => get.call(store, key, options);
  return store;
}

const CASES: readonly [string, Store, boolean][] = [
  ["a MemoryStore", new MemoryStore(), true],
  ["a FileSystemStore", new FileSystemStore("."), true],
  ["an HttpStore", new HttpStore("https://example.org"), true],
  ["a Map", new Map() as unknown as Store, false],
  ["a class with a get of its own", new CountingStore(), false],
  ["a class with a get and a group of its own", new CountingGroups(), true],
  ["a class that overrides neither", new NamedStore(), true],
  ["an object with a get of its own", withOwnGet(), false],
  [
    "a store of parts",
    new ConcatParts([{ keySuffix: "" }]).apply(new MemoryStore()),
    true,
  ],
];

for (const [what, store, expected] of CASES) {
  Deno.test(`hasGroups returns ${expected} for ${what}`, () => {
    assertEquals(hasGroups(store), expected);
  });
}

Deno.test("ConcatParts.apply calls the get of a class that inherits groups", async () => {
  const parts = new ConcatParts([{ keySuffix: "" }, {
    keySuffix: ".index",
    size: 2,
  }]);
  const store = new CountingStore();
  await parts.apply(store).set("/c/0", new Uint8Array(9));
  const before = store.reads;
  assertEquals(await parts.apply(store).get("/c/0"), new Uint8Array(9));
  assertEquals(store.reads - before, 2);
});
