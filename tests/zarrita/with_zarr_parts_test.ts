import {
  assert,
  assertEquals,
  assertRejects,
  assertStrictEquals,
} from "@std/assert";
import * as zarr from "zarrita";
import { MemoryStore, type Store, type StoreKey } from "../../mod.ts";
import { registerCodecs, withZarrParts } from "../../zarrita.ts";
import { countingBytes } from "../support/bytes.ts";
import { observed } from "../support/observed_store.ts";
import { numbers, readAnew, shardedStore } from "./sharded_array.ts";

registerCodecs(zarr.registry);

const READING = ["get", "getRange", "stream", "size"];
const CHANGING = ["set", "delete", "list"];

Deno.test("withZarrParts always has methods for reading, and for changing and listing if the store has them", () => {
  const methods = [...CHANGING, "writer"] as (keyof Store)[];
  for (let chosen = 0; chosen < 2 ** methods.length; chosen++) {
    const own = methods.filter((_, i) => chosen >> i & 1);
    const below = observed(new MemoryStore(), () => {}, ["get", ...own]);
    const store = withZarrParts(below) as unknown as Record<string, unknown>;
    const expected = [
      ...READING,
      // Only what can be written can be deleted.
      ...CHANGING.filter((name) =>
        name in below && (name !== "delete" || "set" in below)
      ),
    ];
    for (const name of [...READING, ...CHANGING, "group", "writer"]) {
      const isThere = expected.includes(name);
      assertEquals(name in store, isThere, name);
      assertEquals(typeof store[name], isThere ? "function" : "undefined");
    }
  }
});

Deno.test("withZarrParts hides methods that would bypass it", () => {
  const below = new MemoryStore();
  const store: object = withZarrParts(below);
  assert("update" in below && "readOf" in below);
  for (const name of ["read", "readOf", "prepare", "update", "writer"]) {
    assert(!(name in store));
    assertEquals((store as Record<string, unknown>)[name], undefined);
    assertEquals(({ ...store } as Record<string, unknown>)[name], undefined);
  }
});

Deno.test("withZarrParts forwards other members of a store, also with private members", async () => {
  class Counting {
    readonly #values = new Map<string, Uint8Array>();
    #reads = 0;
    static made = 1;
    name = "counting";
    get(key: StoreKey): Uint8Array | undefined {
      this.#reads++;
      return this.#values.get(key);
    }
    set(key: StoreKey, value: Uint8Array): void {
      this.#values.set(key, value);
    }
    get reads(): number {
      return this.#reads;
    }
    reset(): number {
      return this.#reads = 0;
    }
  }
  const store = withZarrParts(new Counting());
  assert(store instanceof Counting);
  assertEquals(store.name, "counting");
  assert("reads" in store && "reset" in store && !("nothing" in store));
  await store.set("/a", countingBytes(3));
  assertEquals(await store.get("/a"), countingBytes(3));
  assert(store.reads > 0);
  const { reset } = store;
  assertEquals(reset(), 0);
  assertEquals(store.reads, 0);
});

Deno.test("withZarrParts of a read-only store can be read, and zarr.set rejects", async () => {
  const stored = await shardedStore();
  const below = observed(stored, () => {}, ["get", "getRange", "size"]);
  const array = await zarr.open(withZarrParts(below), { kind: "array" });
  assertEquals(
    Array.from((await zarr.get(array)).data as Uint8Array),
    numbers(12),
  );
  await assertRejects(
    () => zarr.set(array as never, null, 1 as never),
    TypeError,
  );
  assertEquals(await readAnew(stored), numbers(12));
});

Deno.test("withZarrParts keeps the array extensions of a store, before its own", async () => {
  const stored = await shardedStore();
  const calls: string[] = [];
  const extended = zarr.defineStoreExtension((store: Store) => ({
    arrayExtensions: [zarr.defineArrayExtension((array) => {
      calls.push(array.path);
      return {};
    })],
    tag: store,
  }))(stored);
  const store = withZarrParts(extended);
  assertStrictEquals(store.tag, stored);
  const array = await zarr.open(store, { kind: "array" });
  assertEquals(calls, ["/"]);
  assertEquals(array.chunks, [2]);
});
