/** The locks that changes of chunks take in this process. */
import { assertEquals, assertRejects } from "@std/assert";
import { ConcatParts, MemoryStore, type Store } from "../../mod.ts";
import { remove, write } from "../../src/stores/capabilities.ts";
import { exclusively, KeyLocks } from "../../src/stores/locks.ts";
import { observed } from "../support/observed_store.ts";

const KEY = "/c/0";
const PARTS = new ConcatParts([{ keySuffix: "" }, {
  keySuffix: ".index",
  size: 2,
}]);

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
