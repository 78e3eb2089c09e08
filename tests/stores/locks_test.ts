/** The locks that changes of chunks take in this process. */
import { assertEquals, assertRejects } from "@std/assert";
import {
  ConcatParts,
  FileSystemStore,
  MemoryStore,
  type Store,
} from "../../mod.ts";
import { exclusively, KeyLocks } from "../../src/stores/locks.ts";
import { write } from "../../src/stores/capabilities.ts";
import { inTempDir } from "./temp_dir.ts";

const KEY = "/c/0";
const PARTS = new ConcatParts([{ keySuffix: "" }, {
  keySuffix: ".index",
  size: 2,
}]);

/** Runs a task, and returns the keys of all locks that it has taken to write. */
async function locksOf(task: () => Promise<unknown>): Promise<string[]> {
  const taken: string[] = [];
  const original = KeyLocks.prototype.write;
  KeyLocks.prototype.write = function (key, task, options) {
    if (!this.isHeld(key, options)) taken.push(key);
    return original.call(this, key, task, options) as never;
  };
  try {
    await task();
  } finally {
    KeyLocks.prototype.write = original;
  }
  return taken;
}

Deno.test("a change of a chunk in parts takes one lock of the process, in memory and on files", async () => {
  await inTempDir(async (folder) => {
    const bytes = new Uint8Array(5);
    const stream = () => new Blob([bytes]).stream();
    for (const stored of [new MemoryStore(), new FileSystemStore(folder)]) {
      const store = PARTS.apply<Store>(stored);
      const group = () => store.group!(KEY, [KEY]);
      const changes: (() => Promise<unknown>)[] = [
        () => store.set!(KEY, bytes),
        () => store.set!(KEY, stream()),
        () => exclusively(store, KEY, (locked) => write(locked, KEY, bytes)),
        async () => {
          const writer = await group().write!();
          await writer.set(KEY, bytes);
          await writer.close();
        },
        () => group().delete!(),
        () => store.delete!(KEY),
      ];
      for (const change of changes) assertEquals(await locksOf(change), [KEY]);
    }
  });
});

Deno.test("a change of a chunk in parts ends in a store whose groups drop the options", async () => {
  class Store extends MemoryStore {
    override group(...args: Parameters<MemoryStore["group"]>) {
      const group = super.group(...args);
      return {
        ...group,
        read: (task: Parameters<typeof group.read>[0]) => group.read(task),
        write: () => group.write!(),
        delete: () => group.delete!(),
        lock: (task: Parameters<NonNullable<typeof group.lock>>[0]) =>
          group.lock!(task),
      } as typeof group;
    }
  }
  const store = PARTS.apply(new Store());
  await store.set(KEY, new Uint8Array(5).fill(1));
  await exclusively(
    store,
    KEY,
    (locked) => write(locked, KEY, new Uint8Array(5).fill(2)),
  );
  assertEquals(await store.get(KEY), new Uint8Array(5).fill(2));
  await store.delete(KEY);
  assertEquals(await store.get(KEY), undefined);
});

Deno.test("KeyLocks.write runs at once under the lock that its options tell of, and waits after the end of that lock", async () => {
  const locks = new KeyLocks();
  const order: number[] = [];
  let leaked = {};
  await locks.write(KEY, async (options) => {
    leaked = options;
    await locks.write(KEY, () => Promise.resolve(order.push(1)), options);
    order.push(2);
  });
  let end = () => {};
  const holding = locks.write(KEY, () => {
    return new Promise<void>((resolve) => end = resolve);
  });
  const waiting = locks.write(
    KEY,
    () => Promise.resolve(order.push(4)),
    leaked,
  );
  const other = new KeyLocks()
    .write(KEY, () => Promise.resolve(order.push(3)), leaked);
  await other;
  end();
  await Promise.all([holding, waiting]);
  assertEquals(order, [1, 2, 3, 4]);
});

Deno.test("KeyLocks.write does not start a task whose signal was aborted while it waited", async () => {
  const locks = new KeyLocks();
  const controller = new AbortController();
  const holding = locks.write(KEY, () => {
    controller.abort(new Error("Enough"));
    return Promise.resolve();
  });
  const waiting = locks.write(
    KEY,
    () => Promise.reject(new Error("Started")),
    { signal: controller.signal },
  );
  await holding;
  await assertRejects(() => waiting, Error, "Enough");
  assertEquals(await locks.write(KEY, () => Promise.resolve(1)), 1);
});
