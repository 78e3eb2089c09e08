import {
  assert,
  assertEquals,
  assertRejects,
  assertStrictEquals,
} from "@std/assert";
import type { ByteRange, Store, StoreKey, StoreOptions } from "../../mod.ts";
import type { Case } from "./conformance.ts";
import { HOSTILE_KEYS, readAll } from "./store_values.ts";
import { sliced } from "./sliced.ts";

const KEY = "/c/0/1";
const ABSENT: readonly StoreKey[] = ["/c/0/2", "/c/0/11", "/c/0/1/0", "/x/c/0"];

export const readingCases: readonly Case[] = [
  {
    name: "get, stream and size tell the value, of any length",
    needs: ["get"],
    async run({ store, fill, value }) {
      for (const more of [0, 1, 2, 65_535, 65_536, 65_537, 200_003]) {
        await fill(KEY, value(more));
        assertEquals(await store.get(KEY), value(more));
        const streamed = await readAll(await store.stream?.(KEY));
        assertEquals(streamed ?? value(more), value(more));
        const size = await store.size?.(KEY);
        assertEquals(size ?? value(more).length, value(more).length);
      }
    },
  },
  {
    name: "every reading method returns undefined for an absent key",
    needs: ["get"],
    async run({ store, fill, value }) {
      await fill(KEY, value(3));
      for (const key of ABSENT) {
        for (const read of readings(store)) {
          assertEquals(await read(key), undefined);
        }
        for (const range of [{ offset: 0, length: 0 }, { suffixLength: 0 }]) {
          assertEquals(await store.getRange?.(key, range), undefined);
        }
      }
    },
  },
  {
    name: "getRange returns the range, at every boundary by one byte",
    needs: ["getRange"],
    async run({ store, fill, value, boundaries }) {
      for (const more of [0, 1, 7]) {
        const bytes = value(more);
        await fill(KEY, bytes);
        for (const range of ranges([0, ...boundaries, bytes.length])) {
          assertEquals(
            await store.getRange!(KEY, range),
            sliced(bytes, range),
            `${JSON.stringify(range)} of ${bytes.length} bytes`,
          );
        }
      }
    },
  },
  {
    name: "getRange returns a small range of a long value",
    needs: ["getRange"],
    async run({ store, fill, value }) {
      const bytes = value(200_003);
      await fill(KEY, bytes);
      for (
        const range of [
          { offset: 0, length: 1 },
          { offset: 700_001, length: 70_001 },
          { offset: bytes.length - 1, length: 1 },
          { offset: 2 ** 44 + 1, length: 1 }, // Beyond the files of ext4.
          { suffixLength: 65_537 },
        ]
      ) {
        assertEquals(await store.getRange!(KEY, range), sliced(bytes, range));
      }
    },
  },
  {
    name: "getRange rejects invalid lengths and offsets",
    needs: ["getRange"],
    async run({ store, fill, value }) {
      await fill(KEY, value(3));
      for (const wrong of [-1, 0.5, NaN, Infinity, 2 ** 53]) {
        for (
          const range of [
            { offset: wrong, length: 1 },
            { offset: 0, length: wrong },
            { suffixLength: wrong },
          ]
        ) {
          await assertRejects(
            () => store.getRange!(KEY, range),
            RangeError,
            `a whole number from 0 to 2^53−1, found ${wrong}`,
          );
        }
      }
    },
  },
  {
    name: "stream can be read twice concurrently, and be cancelled half-way",
    needs: ["stream"],
    async run({ store, fill, value }) {
      await fill(KEY, value(200_003));
      const left = (await store.stream!(KEY))!.getReader();
      const read = await store.stream!(KEY);
      const never = await store.stream!(KEY);
      assertEquals((await left.read()).done, false);
      await left.cancel(new Error("enough"));
      assertEquals((await left.read()).done, true);
      await never!.cancel();
      assertEquals(await readAll(read), value(200_003));
    },
  },
  {
    name: "changing returned bytes does not change the store",
    needs: ["get"],
    async run({ store, fill, value }) {
      const bytes = value(9);
      await fill(KEY, bytes);
      (await store.get(KEY))!.fill(99);
      (await store.getRange?.(KEY, { offset: 0, length: 9 }))?.fill(99);
      for await (const chunk of (await store.stream?.(KEY)) ?? []) {
        chunk.fill(99);
      }
      bytes.fill(99);
      assertEquals(await store.get(KEY), value(9));
    },
  },
  {
    name: "every reading method rejects with the reason of an aborted signal",
    needs: ["get"],
    async run({ store, fill, value }) {
      await fill(KEY, value(3));
      const reason = new Error("never mind");
      const signal = AbortSignal.abort(reason);
      for (const key of [KEY, ABSENT[0]!] as const) {
        for (const read of readings(store)) {
          assertStrictEquals(
            await assertRejects(() => read(key, { signal })),
            reason,
          );
        }
      }
    },
  },
  {
    name: "stream fails with the signal's reason when aborted half-way",
    needs: ["stream"],
    async run({ store, fill, value }) {
      await fill(KEY, value(2_000_000));
      const controller = new AbortController();
      const { signal } = controller;
      const reader = (await store.stream!(KEY, { signal }))!.getReader();
      assertEquals((await reader.read()).done, false);
      const reason = new Error("enough");
      controller.abort(reason);
      const rest = async () => {
        while (!(await reader.read()).done);
      };
      assertStrictEquals(await assertRejects(rest), reason);
      assertEquals(await store.get(KEY), value(2_000_000));
    },
  },
  {
    name: "a signal that aborts afterwards has no effect",
    needs: ["get"],
    async run({ store, fill, value }) {
      await fill(KEY, value(3));
      const controller = new AbortController();
      const { signal } = controller;
      const bytes = await store.get(KEY, { signal });
      const streamed = await readAll(await store.stream?.(KEY, { signal }));
      controller.abort();
      assertEquals(bytes, value(3));
      assertEquals(streamed ?? bytes, value(3));
    },
  },
  {
    name: "every reading method rejects an invalid key",
    needs: ["get"],
    async run({ store }) {
      for (const key of HOSTILE_KEYS) {
        for (const read of readings(store)) {
          await assertRejects(() => read(key), RangeError, JSON.stringify(key));
        }
      }
    },
  },
];

/** Every way to read a key that the store has. */
function readings(
  store: Store,
): ((key: StoreKey, options?: StoreOptions) => Promise<unknown>)[] {
  const all = [
    store.get.bind(store),
    store.stream?.bind(store),
    store.size?.bind(store),
    store.getRange &&
    ((key: StoreKey, options?: StoreOptions) =>
      store.getRange!(key, { offset: 1, length: 1 }, options)),
    store.getRange &&
    ((key: StoreKey, options?: StoreOptions) =>
      store.getRange!(key, { suffixLength: 1 }, options)),
  ].filter((read) => read !== undefined);
  assert(all.length > 0);
  return all;
}

function* ranges(boundaries: readonly number[]): Generator<ByteRange> {
  const positions = new Set(
    boundaries.flatMap((at) => [at - 1, at, at + 1]).filter((at) => at >= 0),
  );
  const most = Number.MAX_SAFE_INTEGER;
  for (const offset of [...positions, most]) {
    for (const end of positions) {
      if (end >= offset) yield { offset, length: end - offset };
    }
    yield { offset, length: most };
  }
  for (const suffixLength of [...positions, most]) yield { suffixLength };
}
