import { assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import { type ByteRange, MemoryStore, type Store } from "../../mod.ts";
import { RangeBatches } from "../../src/shards/range_batches.ts";
import { countingBytes } from "../support/bytes.ts";

const GAP = 4 * 1024;
const MOST = 2 * 1024 * 1024;

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
  for (const [more, requests] of [[0, 1], [1, 2]] as const) {
    const { store, ranges } = noting(new Uint8Array(MOST + 1));
    const batches = new RangeBatches(store);
    await Promise.all([
      batches.read("/v", { offset: 0, length: 10 }, undefined),
      batches.read("/v", { offset: 10, length: MOST - 10 + more }, undefined),
    ]);
    assertEquals(ranges.length, requests);
  }
  const { store, ranges } = noting(new Uint8Array(MOST + 1));
  const whole = { offset: 0, length: MOST + 1 };
  const bytes = await new RangeBatches(store).read("/v", whole, undefined);
  assertEquals([bytes?.length, ranges.length], [MOST + 1, 1]);
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
