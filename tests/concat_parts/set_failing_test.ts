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
import { observed } from "../support/observed_store.ts";
import { onWritableStores } from "./writable_stores.ts";

const PARTS: Part[] = [
  { keySuffix: ".header", size: 3 },
  { keySuffix: "" },
  { keySuffix: ".index", size: 2 },
];
const WRITE_ORDER = ["/c/0", "/c/0.header", "/c/0.index"];

const BEFORE = countingBytes(20, 100);

/** How a store restores: by its snapshots, or by setting the values that were read before. */
const RESTORING: Record<string, (keyof Store)[] | undefined> = {
  "by snapshots": undefined,
  "by setting it again": ["get", "set", "delete"],
};

for (const failing of WRITE_ORDER) {
  for (const operation of ["set", "delete"] as const) {
    for (const before of [BEFORE, undefined]) {
      for (const [how, methods] of Object.entries(RESTORING)) {
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
              // Without snapshots, a key that always fails cannot be restored.
              if (method !== operation || key !== failing) return;
              if (methods === undefined || failures === 0) {
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

Deno.test("ConcatParts.apply: set that cannot take a snapshot writes nothing", async () => {
  const memory = new MemoryStore();
  await new ConcatParts(PARTS).apply(memory).set("/c/0", BEFORE);
  const before = await contentsOf(memory);
  for (const method of ["snapshot", "get"] as const) {
    const store = observed(memory, (request) => {
      if (request.method === method && request.key === "/c/0.index") {
        throw new Error("Unreadable");
      }
    }, [method, "get", "set"]);
    await assertRejects(
      () => new ConcatParts(PARTS).apply(store).set!("/c/0", countingBytes(9)),
      Error,
      "Unreadable",
    );
    assertEquals(await contentsOf(memory), before);
  }
});

Deno.test("ConcatParts.apply: every snapshot is released, however set ends", async () => {
  for (
    const failing of [
      "nothing",
      "set /c/0.index",
      "snapshot /c/0.index",
      "restore",
    ]
  ) {
    const memory = new MemoryStore();
    let taken = 0;
    const store: Store = {
      ...observed(memory, ({ method, key }) => {
        if (`${method} ${key}` === failing) throw new Error("Failed");
        if (failing === "restore" && method === "set" && key === "/c/0.index") {
          throw new Error("Failed");
        }
      }),
      async snapshot(key) {
        if (`snapshot ${key}` === failing) throw new Error("Failed");
        const snapshot = await memory.snapshot(key);
        taken++;
        return {
          async restore() {
            if (failing === "restore") throw new Error("Not restored");
            await snapshot.restore();
          },
          async release() {
            taken--;
            await snapshot.release();
          },
        };
      },
    };
    const setting = new ConcatParts(PARTS).apply(store).set!(
      "/c/0",
      countingBytes(9),
    );
    const result = await setting.then(
      () => "stored",
      (error) => error.message.slice(0, 14),
    );
    assertEquals(
      [failing, result],
      [
        failing,
        { nothing: "stored", restore: 'Chunk "/c/0" c' }[failing] ?? "Failed",
      ],
    );
    assertEquals(taken, 0, failing);
  }
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
