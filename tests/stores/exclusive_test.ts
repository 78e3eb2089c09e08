import { assertEquals, assertRejects } from "@std/assert";
import { MemoryStore, type Store } from "../../mod.ts";
import { remove, write } from "../../src/stores/capabilities.ts";
import { exclusively } from "../../src/stores/locks.ts";
import { observed } from "../support/observed_store.ts";

const KEY = "/c/0";

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
