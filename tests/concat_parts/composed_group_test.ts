/** Groups of a composed store, whose values are whole chunks. */
import { assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import {
  ConcatParts,
  FileSystemStore,
  type GroupValues,
  MemoryStore,
  MissingPartError,
  PartSizeError,
  type StoreGroup,
} from "../../mod.ts";
import { readAll } from "../stores/store_values.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { contentsOf, countingBytes } from "../support/bytes.ts";

const KEY = "/c/0";
const PARTS = new ConcatParts([
  { keySuffix: ".h", size: 3 },
  { keySuffix: "" },
  { keySuffix: ".t", size: 2 },
]);
const STACKED = new ConcatParts([{ keySuffix: "" }, {
  keySuffix: "-b",
  size: 1,
}]);
const BEFORE = countingBytes(12, 100);
const AFTER = countingBytes(9);

type Stored = MemoryStore | FileSystemStore;

/** Registers a test in memory and on files, with parts and with parts in parts. */
function onStores(
  name: string,
  test: (stored: Stored, compose: (stored: Stored) => Stored) => Promise<void>,
): void {
  const composing = {
    "parts": (stored: Stored) => PARTS.apply(stored),
    "parts in parts": (stored: Stored) => PARTS.apply(STACKED.apply(stored)),
  };
  for (const [what, compose] of Object.entries(composing)) {
    const run = (stored: Stored) =>
      test(stored, (stored) => compose(stored) as unknown as Stored);
    Deno.test(`the group of a composed store ${name}, ${what} in memory`, () =>
      run(new MemoryStore()));
    Deno.test(`the group of a composed store ${name}, ${what} on files`, () =>
      inTempDir((root) => run(new FileSystemStore(root))));
  }
}

const whole = (values: GroupValues) => values.get(KEY);

onStores("reads a whole chunk in every way", async (stored, compose) => {
  const store = compose(stored);
  const group = store.group(KEY, [KEY]);
  for (
    const read of [
      whole,
      (values: GroupValues) => values.size(KEY),
      (values: GroupValues) => values.stream(KEY),
    ]
  ) {
    assertStrictEquals(await group.read<unknown>(read), undefined);
  }
  await store.set(KEY, BEFORE);
  assertEquals(await group.read(whole), BEFORE);
  assertEquals(await group.read((values) => values.size(KEY)), 12);
  assertEquals(
    await readAll(await group.read((values) => values.stream(KEY))),
    BEFORE,
  );
  for (let offset = 0; offset <= 13; offset++) {
    for (let length = 0; length <= 13; length++) {
      assertEquals(
        await group.read((values) => values.getRange(KEY, { offset, length })),
        BEFORE.slice(offset, offset + length),
      );
    }
  }
  await assertRejects(
    () => group.read((values) => values.get("/c/1")),
    RangeError,
  );
  const version = await group.read((values) =>
    Promise.resolve(values.version(KEY)!)
  );
  const range = { offset: 0, length: 1 };
  assertEquals(
    await stored.getRangeOf!(version, KEY, range),
    await stored.getRange(KEY, range),
  );
  version.release();
});

onStores(
  "replaces the chunk when it is closed, and not before",
  async (stored, compose) => {
    const store = compose(stored);
    await store.set(KEY, BEFORE);
    const group: StoreGroup = store.group(KEY, [KEY]);
    for (const isStreamed of [false, true]) {
      const contents = await contentsOf(stored);
      const give = async () => {
        const writer = await group.write!();
        if (!isStreamed) {
          await writer.set(KEY, AFTER);
          return writer;
        }
        const value = await writer.writer(KEY);
        for (const byte of AFTER) {
          assertEquals(
            await value.write(Uint8Array.of(byte)),
            1,
          );
        }
        await value.close();
        return writer;
      };
      await (await give()).abort(new Error("Enough"));
      assertEquals(await contentsOf(stored), contents);
      const writer = await give();
      assertEquals(await contentsOf(stored), contents);
      await writer.close();
      await writer.abort(new Error("Too late"));
      assertEquals(await store.get(KEY), AFTER);
      await store.set(KEY, BEFORE);
    }
  },
);

onStores(
  "refuses chunks that do not fit, and stores nothing",
  async (stored, compose) => {
    const store = compose(stored);
    await store.set(KEY, BEFORE);
    const contents = await contentsOf(stored);
    const writer = await store.group(KEY, [KEY]).write!();
    await assertRejects(
      () => writer.set(KEY, new Uint8Array(4)),
      PartSizeError,
    );
    const value = await writer.writer(KEY);
    await value.write(new Uint8Array(4));
    await assertRejects(async () => await value.close(), PartSizeError);
    await assertRejects(() => writer.set("/c/1", AFTER), RangeError);
    await writer.abort(new Error("Enough"));
    assertEquals(await contentsOf(stored), contents);
  },
);

onStores(
  "deletes all parts, and reads an incomplete chunk as an error",
  async (stored, compose) => {
    const store = compose(stored);
    await store.set(KEY, BEFORE);
    await stored.delete(`${KEY}.t`);
    const group = store.group(KEY, [KEY]);
    await assertRejects(() => group.read(whole), MissingPartError);
    await group.delete!();
    assertEquals(await contentsOf(stored), {});
  },
);

onStores(
  "runs changes under its lock one after another, in the order of the calls",
  async (stored, compose) => {
    const add = (store: Stored) =>
      store.group(KEY, [KEY]).lock!(async (group) => {
        const bytes = await group.read(whole) ?? new Uint8Array(5);
        const writer = await group.write!();
        await writer.set(KEY, new Uint8Array(bytes.length + 1));
        await writer.close();
      });
    // Stores composed of the same one share the lock.
    await Promise.all([1, 2, 3, 4, 5].map(() => add(compose(stored))));
    assertEquals(await compose(stored).size(KEY), 10);
    const last = compose(stored).set(KEY, BEFORE);
    await Promise.all([add(compose(stored)), last]);
    assertEquals(await compose(stored).size(KEY), 13);
  },
);

onStores(
  "changes the chunk after earlier reads have finished",
  async (stored, compose) => {
    for (const change of ["delete", "close"] as const) {
      const store = compose(stored);
      await store.set(KEY, BEFORE);
      const group = store.group(KEY, [KEY]);
      const writer = await group.write!();
      await writer.set(KEY, AFTER);
      const goOn = Promise.withResolvers<void>();
      const reading = group.read(async (values) => {
        await goOn.promise;
        return await values.get(KEY);
      });
      let isChanged = false;
      const changing = (change === "delete" ? group.delete!() : writer.close())
        .then(() => isChanged = true);
      await new Promise((resolve) => setTimeout(resolve, 20));
      assertStrictEquals(isChanged, false);
      goOn.resolve();
      assertEquals(await reading, BEFORE);
      await changing;
      const expected = change === "delete" ? undefined : AFTER;
      assertEquals(await store.get(KEY), expected);
      await writer.abort(new Error("Enough"));
    }
  },
);
