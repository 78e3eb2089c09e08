/** The locks that changes of chunks take in this process. */
import { assertEquals, assertRejects } from "@std/assert";
import {
  ConcatParts,
  FileSystemStore,
  MemoryStore,
  type Store,
} from "../../mod.ts";
import { remove, write } from "../../src/stores/capabilities.ts";
import { exclusively, KeyLocks } from "../../src/stores/locks.ts";
import { observed } from "../support/observed_store.ts";
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

/** Stores that lock in any process, and in this process alone. */
function stores(): Record<string, Store> {
  return {
    "with groups": new MemoryStore(),
    "without groups": observed(new MemoryStore(), () => {}),
  };
}

for (const [name, { group }] of Object.entries(stores())) {
  Deno.test(`exclusively runs tasks of one value one after another, of a store ${name}`, async () => {
    const store = stores()[name]!;
    assertEquals(store.group === undefined, group === undefined);
    await Promise.all(
      Array.from(
        { length: 20 },
        (_, i) =>
          exclusively(store, KEY, async (locked) => {
            const bytes = await locked.get(KEY) ?? new Uint8Array(20);
            assertEquals(await locked.size!(KEY), i === 0 ? undefined : 20);
            bytes[i] = i + 1;
            await write(locked, KEY, bytes);
            const range = { offset: i, length: 1 };
            assertEquals(
              await locked.getRange!(KEY, range),
              Uint8Array.of(i + 1),
            );
          }),
      ),
    );
    assertEquals(
      await store.get(KEY),
      Uint8Array.from({ length: 20 }, (_, i) => i + 1),
    );
    await exclusively(store, KEY, (locked) => remove(locked, KEY));
    assertEquals(await store.get(KEY), undefined);
  });

  Deno.test(`exclusively runs the next task after a failed or aborted one, of a store ${name}`, async () => {
    const store = stores()[name]!;
    const lost = new Error("Lost");
    const failing = exclusively(store, KEY, () => Promise.reject(lost));
    const signal = AbortSignal.abort(new Error("Enough"));
    const aborted = exclusively(store, KEY, () => Promise.resolve(2), {
      signal,
    });
    const last = exclusively(store, KEY, () => Promise.resolve(3));
    assertEquals(await assertRejects(() => failing), lost);
    await assertRejects(() => aborted, Error, "Enough");
    assertEquals(await last, 3);
  });
}

Deno.test("exclusively gives up a value that cannot be stored, and keeps the earlier one", async () => {
  const stored = new MemoryStore([[KEY, Uint8Array.of(1)]]);
  const aborted: unknown[] = [];
  const full = new Error("Full");
  const store: Store = {
    get: (key) => stored.get(key),
    group(key, keys) {
      const group = stored.group(key, keys);
      return {
        read: (task) => group.read(task),
        lock: (task) => task(this.group!(key, keys)),
        async write() {
          const writer = await group.write!();
          return {
            set: (key, bytes) => writer.set(key, bytes),
            writer: (key) => writer.writer(key),
            close: () => Promise.reject(full),
            abort: (reason) => Promise.resolve(void aborted.push(reason)),
          };
        },
      };
    },
  };
  const writing = exclusively(
    store,
    KEY,
    (locked) => write(locked, KEY, Uint8Array.of(2)),
  );
  assertEquals(await assertRejects(() => writing), full);
  assertEquals(aborted, [full]);
  assertEquals(await stored.get(KEY), Uint8Array.of(1));
});
