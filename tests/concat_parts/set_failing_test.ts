/** Setting and deleting a chunk while a step fails: the earlier chunk stays. */
import { assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import {
  ConcatParts,
  FileSystemStore,
  MemoryStore,
  type Part,
  type Store,
} from "../../mod.ts";
import { contentsOf, countingBytes } from "../support/bytes.ts";
import { observed, STORE_METHODS } from "../support/observed_store.ts";
import { onWritableStores } from "./writable_stores.ts";

const PARTS: Part[] = [
  { keySuffix: ".header", size: 3 },
  { keySuffix: "" },
  { keySuffix: ".index", size: 2 },
];
const WRITE_ORDER = ["/c/0", "/c/0.header", "/c/0.index"];

const BEFORE = countingBytes(20, 100);

/** How a chunk is kept: by a group of the store, or by setting the values that were read before. */
const KEEPING: Record<string, (keyof Store)[]> = {
  "by a group": [...STORE_METHODS, "group"],
  "by setting it again": ["get", "set", "delete"],
};

for (const failing of WRITE_ORDER) {
  for (const operation of ["set", "delete"] as const) {
    for (const before of [BEFORE, undefined]) {
      for (const [how, methods] of Object.entries(KEEPING)) {
        const what = before === undefined ? "no chunk" : "the earlier chunk";
        onWritableStores(
          `${operation} that fails at ${failing} leaves ${what} ${how}`,
          async (stored) => {
            const parts = new ConcatParts(PARTS);
            await parts.apply(stored).set("/c/9", BEFORE);
            if (before) await parts.apply(stored).set("/c/0", before);
            const contents = await contentsOf(stored);
            let failures = 0;
            const failingStore = observed(stored, ({ method, key }) => {
              // Without a group, a key that always fails cannot be restored.
              if (method !== operation || key !== failing) return;
              if (methods.includes("group") || failures === 0) {
                throw new Error(`Disk on fire, ${++failures}`);
              }
            }, methods);
            const composed = parts.apply(failingStore);
            await assertRejects(
              async () =>
                operation === "set"
                  ? await composed.set!("/c/0", countingBytes(9))
                  : await composed.delete!("/c/0"),
              Error,
              "Disk on fire, 1",
            );
            assertEquals(await contentsOf(stored), contents);
          },
        );
      }
    }
  }
}

Deno.test("ConcatParts.apply: set that fails and cannot restore the chunk reports both errors", async () => {
  const memory = new MemoryStore();
  await new ConcatParts(PARTS).apply(memory).set("/c/0", BEFORE);
  let broken = false;
  const store = observed(memory, ({ method, key }) => {
    if (method !== "set") return;
    broken ||= key === "/c/0.header";
    if (broken) throw new Error(`No ${key}`);
  }, ["get", "set", "delete"]);
  const error = await assertRejects(
    () => new ConcatParts(PARTS).apply(store).set!("/c/0", countingBytes(9)),
    AggregateError,
    'Chunk "/c/0" could not be changed, and could not be restored either',
  );
  assertStrictEquals(error.errors[0].message, "No /c/0.header");
  assertStrictEquals(error.errors[1] instanceof Error, true);
});

Deno.test("ConcatParts.apply: set that cannot read the earlier parts writes nothing", async () => {
  const memory = new MemoryStore();
  await new ConcatParts(PARTS).apply(memory).set("/c/0", BEFORE);
  const before = await contentsOf(memory);
  const store = observed(memory, ({ method, key }) => {
    if (method === "get" && key === "/c/0.index") throw new Error("Unreadable");
  }, ["get", "set"]);
  await assertRejects(
    () => new ConcatParts(PARTS).apply(store).set!("/c/0", countingBytes(9)),
    Error,
    "Unreadable",
  );
  assertEquals(await contentsOf(memory), before);
});

Deno.test("ConcatParts.apply: set that always fails at one part restores the others and rejects with that error", async () => {
  for (const failing of WRITE_ORDER) {
    const memory = new MemoryStore();
    await new ConcatParts(PARTS).apply(memory).set("/c/0", BEFORE);
    const before = await contentsOf(memory);
    const composed = new ConcatParts(PARTS).apply<Store>({
      get: (key) => memory.get(key),
      async set(key, value) {
        if (key === failing) throw new Error("Disk full");
        await memory.set(key, value);
      },
    });
    const error = await assertRejects(
      () => composed.set!("/c/0", countingBytes(9)),
      Error,
    );
    assertStrictEquals(error.message, "Disk full");
    assertEquals(await contentsOf(memory), before);
  }
});

Deno.test("ConcatParts.apply: set that fails after it stored a part restores that part as well", async () => {
  for (const failing of WRITE_ORDER) {
    const memory = new MemoryStore();
    await new ConcatParts(PARTS).apply(memory).set("/c/0", BEFORE);
    const before = await contentsOf(memory);
    let failed = false;
    const composed = new ConcatParts(PARTS).apply<Store>({
      get: (key) => memory.get(key),
      async set(key, value) {
        await memory.set(key, value);
        if (key === failing && !failed) {
          failed = true;
          throw new Error("Answer lost");
        }
      },
    });
    await assertRejects(
      () => composed.set!("/c/0", countingBytes(9)),
      Error,
      "Answer lost",
    );
    assertEquals(await contentsOf(memory), before);
  }
});

Deno.test("ConcatParts.apply: set that fails on files leaves no folder in the way of a key", async () => {
  const root = await Deno.makeTempDir();
  try {
    const stored = new FileSystemStore(root);
    // A file and a folder of one name: no file system can hold both.
    const composed = new ConcatParts([{ keySuffix: "/data" }, {
      keySuffix: "",
      size: 4,
    }]).apply(stored);
    assertStrictEquals(await composed.get("/c/0"), undefined);
    await assertRejects(
      () => composed.set("/c/0", countingBytes(9)),
      Error,
      "names a folder",
    );
    assertStrictEquals(await composed.get("/c/0"), undefined);
    assertEquals(await Array.fromAsync(Deno.readDir(root)), []);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});
