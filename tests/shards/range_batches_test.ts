import { assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import { type ByteRange, MemoryStore, type Store } from "../../mod.ts";
import { RangeBatches } from "../../src/shards/range_batches.ts";
import { countingBytes } from "../support/bytes.ts";

const GAP = 4 * 1024;
const MOST = 2 * 1024 * 1024;
const LARGE = 128 * 1024;

/** A store of one value that notes the ranges it is asked for. */
function noting(value: Uint8Array): { store: Store; ranges: ByteRange[] } {
  const memory = new MemoryStore([["/v", value]]);
  const ranges: ByteRange[] = [];
  const store: Store = {
    get: (key, options) => memory.get(key, options),
    getRange(key, range, options) {
      ranges.push(range);
      return memory.getRange(key, range, options);
    },
    size: (key, options) => memory.size(key, options),
  };
  return { store, ranges };
}

Deno.test("RangeBatches returns the bytes of each range, for any concurrent ranges", async () => {
  const value = countingBytes(20_000);
  const anyExtent = fc.record({
    offset: fc.nat(22_000),
    length: fc.integer({ min: 1, max: 6000 }),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyExtent, { maxLength: 12 }),
      async (extents) => {
        const { store, ranges } = noting(value);
        const batches = new RangeBatches(store);
        const read = await Promise.all(
          extents.map((extent) => batches.read("/v", extent, undefined)),
        );
        assertEquals(
          read,
          extents.map(({ offset, length }) =>
            value.slice(offset, offset + length)
          ),
        );
        assertEquals(ranges.length <= extents.length, true);
      },
    ),
  );
});

Deno.test("RangeBatches joins exactly adjacent ranges into one read", async () => {
  for (
    const [gap, requests] of [[-10, 1], [0, 1], [GAP, 1], [GAP + 1, 2]] as const
  ) {
    const { store, ranges } = noting(countingBytes(20_000));
    const batches = new RangeBatches(store);
    const second = { offset: 200 + gap, length: 50 };
    await Promise.all([
      batches.read("/v", second, undefined),
      batches.read("/v", { offset: 100, length: 100 }, undefined),
    ]);
    assertEquals(ranges.length, requests, `${gap} bytes between`);
    if (requests === 1) {
      const length = Math.max(200, second.offset + 50) - 100;
      assertEquals(ranges, [{ offset: 100, length }]);
    }
  }
});

Deno.test("RangeBatches joins at most two mebibytes into one read", async () => {
  const length = MOST / 32;
  for (const [more, requests] of [[0, 1], [1, 2]] as const) {
    const { store, ranges } = noting(new Uint8Array(MOST + 1));
    const batches = new RangeBatches(store);
    await Promise.all(
      Array.from({ length: 32 }, (_, i) => {
        const last = i === 31 ? length + more : length;
        const extent = { offset: i * length, length: last };
        return batches.read("/v", extent, undefined);
      }),
    );
    assertEquals(ranges.length, requests);
  }
  const { store, ranges } = noting(new Uint8Array(MOST + 1));
  const whole = { offset: 0, length: MOST + 1 };
  const bytes = await new RangeBatches(store).read("/v", whole, undefined);
  assertEquals([bytes?.length, ranges.length], [MOST + 1, 1]);
});

Deno.test("RangeBatches joins no range of 128 KiB or more with another that it does not contain, in a store that can write and tells no versions", async () => {
  const cases: [number[][], number][] = [
    [[[0, LARGE - 1], [LARGE - 1, LARGE - 1]], 1],
    [[[0, LARGE - 1], [LARGE - 1, LARGE]], 2],
    [[[0, LARGE], [LARGE, LARGE - 1]], 2],
    [[[0, LARGE], [LARGE, 10], [LARGE + 10, 10]], 2],
    [[[0, 10], [10, LARGE], [LARGE + 10, 10]], 3],
    [[[0, LARGE], [LARGE - 1, 2]], 2],
    [[[0, LARGE], [0, LARGE]], 1],
    [[[0, LARGE], [LARGE - 10, 10]], 1],
  ];
  const value = countingBytes(2 * LARGE);
  for (const [extents, requests] of cases) {
    const { store, ranges } = noting(value);
    const set = () => Promise.resolve();
    const batches = new RangeBatches({ ...store, set });
    const read = await Promise.all(
      extents.map(([offset = 0, length = 0]) =>
        batches.read("/v", { offset, length }, undefined)
      ),
    );
    read.forEach((bytes, i) => {
      const [offset = 0, length = 0] = extents[i]!;
      assertEquals(bytes, value.slice(offset, offset + length));
    });
    assertEquals(ranges.length, requests, JSON.stringify(extents));
    const getRangeOf = () => Promise.resolve(undefined);
    for (const other of [store, { ...store, set, getRangeOf }]) {
      ranges.length = 0;
      const combining = new RangeBatches(other);
      await Promise.all(
        extents.map(([offset = 0, length = 0]) =>
          combining.read("/v", { offset, length }, undefined)
        ),
      );
      assertEquals(ranges.length, 1);
    }
  }
});

Deno.test("RangeBatches returns bytes that keep no other bytes in memory", async () => {
  const batches = new RangeBatches(noting(countingBytes(1000)).store);
  const read = await Promise.all(
    [0, 10, 20].map((offset) =>
      batches.read("/v", { offset, length: 10 }, undefined)
    ),
  );
  for (const bytes of read) assertEquals(bytes?.buffer.byteLength, 10);
});

Deno.test("RangeBatches does not join later ranges, and ranges of other values and signals", async () => {
  const { store, ranges } = noting(countingBytes(1000));
  const batches = new RangeBatches(store);
  const [a, b] = [new AbortController(), new AbortController()];
  const extent = { offset: 0, length: 10 };
  const reads = [
    batches.read("/v", extent, { signal: a.signal }),
    batches.read("/v", extent, { signal: b.signal }),
    batches.read("/v", extent, undefined),
    batches.read("/w", extent, undefined),
  ];
  a.abort(new Error("Not wanted"));
  await assertRejects(() => reads[0]!, Error, "Not wanted");
  assertEquals(await reads[1], countingBytes(10));
  assertEquals(await reads[2], countingBytes(10));
  assertEquals(await reads[3], undefined);
  assertEquals(ranges.length, 3);
  await batches.read("/v", extent, undefined);
  assertEquals(ranges.length, 4);
});

Deno.test("RangeBatches rejects for every reader after a failure, and continues", async () => {
  let fails = true;
  const batches = new RangeBatches({
    get: () => Promise.resolve(undefined),
    getRange: () =>
      fails
        ? Promise.reject(new Error("Lost"))
        : Promise.resolve(countingBytes(10)),
    size: () => Promise.resolve(10),
  });
  const extent = { offset: 0, length: 10 };
  const reads = [1, 2, 3].map(() => batches.read("/v", extent, undefined));
  for (const read of reads) await assertRejects(() => read, Error, "Lost");
  fails = false;
  assertEquals(await batches.read("/v", extent, undefined), countingBytes(10));
});

Deno.test("RangeBatches reads from the body what it has, and anything else from the store, to the byte", async () => {
  // The shard is 10 bytes of a head, 20 bytes of the body, and 10 bytes of a tail.
  const shard = countingBytes(40);
  const whole = noting(shard);
  const parts = new MemoryStore([["/v.body", shard.slice(10, 30)]]);
  const asked: [string, ByteRange][] = [];
  const batches = new RangeBatches(whole.store, {
    store: {
      get: (key) => parts.get(key),
      getRange(key, range) {
        asked.push([key, range]);
        return parts.getRange(key, range);
      },
      size: (key) => parts.size(key),
    },
    keySuffix: ".body",
    offset: 10,
  });
  for (
    const [offset, length, asksBody, asksStore] of [
      [9, 5, 0, 1],
      [10, 5, 1, 0],
      [10, 20, 1, 0],
      [10, 21, 1, 1],
      [29, 1, 1, 0],
      [29, 2, 1, 1],
      [30, 1, 1, 1],
    ] as const
  ) {
    asked.length = whole.ranges.length = 0;
    assertEquals(
      await batches.read("/v", { offset, length }, undefined),
      shard.slice(offset, offset + length),
    );
    assertEquals(
      asked,
      asksBody ? [["/v.body", { offset: offset - 10, length }]] : [],
    );
    assertEquals(whole.ranges, asksStore ? [{ offset, length }] : []);
  }
  // Both at once are one request where they lie together.
  asked.length = whole.ranges.length = 0;
  const together = [{ offset: 12, length: 3 }, { offset: 20, length: 4 }];
  assertEquals(
    await Promise.all(together.map((range) => batches.read("/v", range, {}))),
    together.map(({ offset, length }) => shard.slice(offset, offset + length)),
  );
  assertEquals(asked, [["/v.body", { offset: 2, length: 12 }]]);
  assertEquals(whole.ranges, []);
  // A value without a body is left to the store.
  assertEquals(
    await batches.read("/w", { offset: 12, length: 3 }, undefined),
    undefined,
  );
});
