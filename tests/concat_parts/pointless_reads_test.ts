/** Reads that have become of no use, and parts that are longer than they may be. */
import {
  assert,
  assertEquals,
  assertRejects,
  assertStrictEquals,
} from "@std/assert";
import {
  type ByteRange,
  ConcatParts,
  type GetOptions,
  MemoryStore,
  MissingPartError,
  type Part,
  PartSizeError,
  type Store,
} from "../../mod.ts";
import { countingBytes } from "../support/bytes.ts";
import { logged, observed, STORE_METHODS } from "../support/observed_store.ts";

const KEY = "/c/0";
const PARTS: Part[] = [
  { keySuffix: ".h", size: 3 },
  { keySuffix: "" },
  { keySuffix: ".t", size: 2 },
];
/** Ranges that need the part without a size and one other part at once. */
const RANGES: Record<string, ByteRange> = {
  ".h": { offset: 1, length: 100 },
  ".t": { suffixLength: 6 },
};

/** A store where the part `KEY` is read without end, until the read is aborted. */
function endlessStore(
  stored: Store,
  hasGroup: boolean,
): { store: Store; started: Promise<void>; aborted: Promise<unknown> } {
  const started = Promise.withResolvers<void>();
  const aborted = Promise.withResolvers<unknown>();
  const endless = (options: GetOptions = {}) =>
    new Promise<never>((_, reject) => {
      started.resolve();
      options.signal?.addEventListener("abort", () => {
        aborted.resolve(options.signal!.reason);
        reject(options.signal!.reason);
      });
    });
  const reading = {
    get: (key, options) => key === KEY ? endless(options) : stored.get(key),
    getRange: (key, range, options) =>
      key === KEY ? endless(options) : stored.getRange!(key, range),
    size: (key) => stored.size!(key),
  } satisfies Store;
  const store: Store = hasGroup
    ? {
      ...reading,
      group: () => ({
        read: (task) =>
          task({
            ...reading,
            stream: (key) => stored.stream!(key),
            version: () => undefined,
          }),
      }),
    }
    : reading;
  return { store, started: started.promise, aborted: aborted.promise };
}

for (const hasGroup of [true, false]) {
  const where = hasGroup ? "in a group" : "without groups";
  const ways = {
    get: (store: Store, _: string, options?: GetOptions) =>
      store.get(KEY, options),
    getRange: (store: Store, suffix: string, options?: GetOptions) =>
      store.getRange!(KEY, RANGES[suffix]!, options),
  };
  for (const [what, read] of Object.entries(ways)) {
    for (const suffix of [".h", ".t"]) {
      Deno.test(`ConcatParts.apply: ${what} aborts the other parts if ${suffix} has another size, ${where}`, async () => {
        for (const length of [0, 1, 4]) {
          const stored = new MemoryStore();
          await new ConcatParts(PARTS).apply(stored).set(KEY, countingBytes(9));
          await stored.set(`${KEY}${suffix}`, new Uint8Array(length));
          const { store, aborted } = endlessStore(stored, hasGroup);
          const error = await assertRejects(
            () => read(new ConcatParts(PARTS).apply(store), suffix),
            PartSizeError,
          );
          assertStrictEquals(await aborted, error);
        }
      });

      Deno.test(`ConcatParts.apply: ${what} aborts the other parts if ${suffix} is missing, ${where}`, async () => {
        const stored = new MemoryStore();
        await new ConcatParts(PARTS).apply(stored).set(KEY, countingBytes(9));
        await stored.delete(`${KEY}${suffix}`);
        const { store, aborted } = endlessStore(stored, hasGroup);
        const error = await assertRejects(
          () => read(new ConcatParts(PARTS).apply(store), suffix),
          MissingPartError,
        );
        assertEquals(error.missing, [`${KEY}${suffix}`]);
        assertStrictEquals(await aborted, error);
      });
    }

    Deno.test(`ConcatParts.apply: ${what} passes the abort of its signal on to all parts, ${where}`, async () => {
      const stored = new MemoryStore();
      await new ConcatParts(PARTS).apply(stored).set(KEY, countingBytes(9));
      const { store, started, aborted } = endlessStore(stored, hasGroup);
      const controller = new AbortController();
      const reading = read(new ConcatParts(PARTS).apply(store), ".h", {
        signal: controller.signal,
      });
      const reason = new Error("Enough");
      await started;
      controller.abort(reason);
      assertStrictEquals(await reading.catch((error) => error), reason);
      assertStrictEquals(await aborted, reason);
    });
  }
}

Deno.test("ConcatParts.apply: reads of sized parts have their size as a limit, and are a PartSizeError beyond it", async () => {
  const memory = new MemoryStore();
  await new ConcatParts(PARTS).apply(memory).set(KEY, countingBytes(9));
  for (const methods of [STORE_METHODS, [...STORE_METHODS, "group"] as const]) {
    const limits: Record<string, unknown> = {};
    const store = new ConcatParts(PARTS).apply(
      observed(memory, ({ method, key, options }) => {
        if (method === "get") limits[key] = (options as GetOptions)?.limit;
      }, methods),
    );
    await store.get(KEY);
    assertEquals(limits, { "/c/0": undefined, "/c/0.h": 3, "/c/0.t": 2 });
  }
  await memory.set("/c/0.t", new Uint8Array(1000));
  const store = new ConcatParts(PARTS).apply(memory);
  for (
    const read of [
      () => store.get(KEY),
      () => store.getRange(KEY, { suffixLength: 1 }),
      () => store.getRange(KEY, { suffixLength: 8 }),
      () => store.stream(KEY),
      () => store.size(KEY),
    ]
  ) {
    const error = await assertRejects(read, PartSizeError);
    assertEquals([error.key, error.expected, error.actual], [
      "/c/0.t",
      2,
      1000,
    ]);
  }
});

Deno.test("ConcatParts.apply: a part of unknown length beyond its size is a PartSizeError that says so", async () => {
  const { SizeLimitError } = await import("../../mod.ts");
  const store = new ConcatParts([{ keySuffix: "", size: 4 }]).apply({
    get: (key, options: GetOptions = {}) =>
      Promise.reject(new SizeLimitError(key, options.limit!)),
  });
  const error = await assertRejects(
    () => store.get(KEY),
    PartSizeError,
    'Part "/c/0" is at least 5 bytes long, where its size is 4',
  );
  assertEquals(error.actual, 5);
});

Deno.test("ConcatParts.apply: a range in one part takes one request without the group, and any other the group", async () => {
  const memory = new MemoryStore();
  await new ConcatParts(PARTS).apply(memory).set(KEY, countingBytes(9));
  for (let start = 0; start <= 10; start++) {
    for (let end = start; end <= 10; end++) {
      const { store, log } = logged(memory, [...STORE_METHODS, "group"]);
      let groups = 0;
      const composed = new ConcatParts(PARTS).apply({
        ...store,
        group(key, keys) {
          groups++;
          return store.group!(key, keys);
        },
      });
      const range = { offset: start, length: end - start };
      assertEquals(
        await composed.getRange(KEY, range),
        countingBytes(9).slice(start, end),
      );
      const isInOne = start < end &&
        ([[0, 3], [3, 7], [7, 9]] as const).some(([a, b]) =>
          start >= a && end <= b && a < 7
        );
      assertEquals(groups, isInOne ? 0 : 1, JSON.stringify(range));
      if (isInOne) assertEquals(log.length, 1);
    }
  }
  const { store } = logged(memory, STORE_METHODS);
  assert(!("group" in new ConcatParts(PARTS).apply(store)));
});
