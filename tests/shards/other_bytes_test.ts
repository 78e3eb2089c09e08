import { assert, assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import {
  DamageError,
  decodeShardIndex,
  encodeShardIndex,
  MemoryStore,
  OtherBytesError,
  type ShardIndex,
  shardIndexSize,
  type ShardLayout,
} from "../../mod.ts";
import { FirstBytes } from "../../src/shards/replace_shard.ts";
import { changeShard } from "../../src/shards/change_shard.ts";
import { layoutsOf } from "./arbitraries.ts";

const KEY = "/c/0";

/** A shard, with what each of its bytes belongs to. */
interface AnyShard {
  layout: ShardLayout;
  headSize: number;
  bytes: Uint8Array;
  index: ShardIndex;
  /** The offsets of bytes that are not 0 and belong to neither inner chunks, index nor head parts. */
  others: number[];
  /** Those of them before the first inner chunk. */
  firstOthers: number[];
}

/** Bytes that are often all zeros. */
const gap = fc.oneof(
  fc.constant(new Uint8Array()),
  fc.nat(3).map((length) => new Uint8Array(length)),
  fc.uint8Array({ minLength: 1, maxLength: 4 }),
);
const anyChunk = fc.option(fc.uint8Array({ maxLength: 4 }), {
  nil: undefined,
  freq: 3,
});

/** Shards whose inner chunks lie anywhere in any order, between any bytes. */
const anyShard: fc.Arbitrary<AnyShard> = fc.record({
  layout: fc.constantFrom(...layoutsOf(3)),
  headSize: fc.nat(4),
  chunks: fc.tuple(anyChunk, anyChunk, anyChunk),
  order: fc.shuffledSubarray([0, 1, 2], { minLength: 3 }),
  gaps: fc.tuple(gap, gap, gap, gap),
  isHeadFree: fc.boolean(),
  /** Whether inner chunks lie one after another, as this package writes them. */
  isCompact: fc.boolean(),
}).map(({ layout, chunks, order, gaps, isHeadFree, isCompact, ...given }) => {
  const indexSize = shardIndexSize(layout);
  const isAtStart = layout.indexLocation === "start";
  const headSize = given.headSize + (isAtStart ? indexSize : 0);
  const body: number[] = Array(isAtStart ? indexSize : 0).fill(0);
  /** Whether a byte belongs to an inner chunk. */
  const isInner: boolean[] = body.map(() => false);
  const put = (bytes: Iterable<number>, isChunk: boolean) => {
    for (const byte of bytes) {
      body.push(byte);
      isInner.push(isChunk);
    }
  };
  if (isHeadFree) put(Array(given.headSize).fill(9), false);
  const index: ShardIndex[number][] = [undefined, undefined, undefined];
  (isCompact ? [0, 1, 2] : order).forEach((place, i) => {
    if (i === 0 || !isCompact) put(gaps[i]!, false);
    const chunk = chunks[place];
    if (chunk === undefined) return;
    index[place] = { offset: body.length, length: chunk.length };
    put(chunk, true);
  });
  if (!isCompact) put(gaps[3], false);
  const indexBytes = encodeShardIndex(index, layout);
  if (isAtStart) body.splice(0, indexSize, ...indexBytes);
  const start = Math.max(headSize, isAtStart ? indexSize : 0);
  const others = [...body.keys()].filter((at) =>
    at >= start && !isInner[at] && body[at] !== 0
  );
  const first = isInner.indexOf(true);
  return {
    layout,
    headSize,
    bytes: Uint8Array.of(...body, ...isAtStart ? [] : indexBytes),
    index,
    others,
    firstOthers: others.filter((at) => first < 0 || at < first),
  };
}).filter(({ bytes, headSize }) => bytes.length >= headSize);

const anyChange = fc.record({
  changes: fc.array(fc.tuple(fc.nat(2), anyChunk), { maxLength: 3 }),
  isWhole: fc.boolean(),
  /** Whether changes keep the lengths of inner chunks. */
  keepsLengths: fc.boolean(),
  prefix: fc.option(fc.uint8Array({ maxLength: 5 }), { nil: undefined }),
  alignment: fc.constantFrom(1, 1, 1, 4),
});

Deno.test("changeShard refuses what would lose other bytes or leave them wrong, and nothing else", async () => {
  let [refused, kept] = [0, 0];
  await fc.assert(
    fc.asyncProperty(anyShard, anyChange, async (shard, change) => {
      const { layout, headSize, bytes, others, firstOthers, index } = shard;
      const { isWhole, alignment } = change;
      const isAtStart = layout.indexLocation === "start";
      const prefix = isAtStart || headSize > 0 ? undefined : change.prefix;
      const options = { isWhole, headSize, alignment, prefix };
      const changes = new Map(
        change.changes.map(([place, bytes]) => [
          place,
          change.keepsLengths ? sameLength(index[place]) : bytes,
        ]),
      );

      // The shard that comes of it if nothing is refused.
      const free = new MemoryStore([[KEY, bytes]]);
      await changeShard(free, KEY, layout, changes, {
        ...options,
        otherBytes: "replace",
      });
      const after = await free.get(KEY);

      const first = index.flatMap((it) => it?.length ? [it.offset] : []);
      const start = Math.min(...first);
      const guarded = isWhole
        ? (prefix ? [] : firstOthers)
        : others.filter((at) => prefix === undefined || at >= start);
      const isSame = () =>
        after?.length === bytes.length &&
        guarded.every((at) => after[at] === bytes[at]) &&
        indexOf(after, layout).every((entry, i) =>
          entry?.offset === index[i]?.offset &&
          entry?.length === index[i]?.length
        );
      const isRefused = guarded.length > 0 && (isWhole || !isSame());

      const store = new MemoryStore([[KEY, bytes]]);
      const changing = () => changeShard(store, KEY, layout, changes, options);
      if (isRefused) {
        refused++;
        const error = await assertRejects(changing, OtherBytesError);
        assertEquals(await store.get(KEY), bytes);
        assert(
          guarded.some((at) =>
            at >= error.offset && at < error.offset + error.length
          ),
        );
      } else {
        if (guarded.length > 0) kept++;
        await changing();
        assertEquals(await store.get(KEY), after);
      }
    }),
    { numRuns: 3000 },
  );
  assert(refused > 100 && kept > 15, `${refused} refused, ${kept} kept`);
});

Deno.test("FirstBytes finds bytes before the first inner chunk, in pieces of any length", () => {
  let found = 0;
  const cases = fc.tuple(
    anyShard,
    fc.array(fc.nat(30)),
    fc.option(fc.tuple(fc.nat(200), fc.nat(255)), { nil: undefined }),
  );
  fc.assert(
    fc.property(cases, ([shard, lengths, damage]) => {
      const { layout, headSize, firstOthers } = shard;
      const bytes = shard.bytes.slice();
      if (damage) bytes[damage[0] % bytes.length]! ^= damage[1];
      const value = new FirstBytes(layout, headSize);
      let at = 0;
      for (const length of [...lengths, bytes.length]) {
        value.add(bytes.subarray(at, at += length));
      }
      const isSame = bytes.every((byte, i) => byte === shard.bytes[i]);
      if (isSame) {
        found += Number(firstOthers.length > 0);
        assertEquals(value.areOthers(), firstOthers.length > 0);
      } else if (value.areOthers()) {
        // The index is whole, and bytes before the first inner chunk are not 0.
        const index = indexOf(bytes, layout);
        const isAtStart = layout.indexLocation === "start";
        const size = shardIndexSize(layout);
        const start = Math.max(headSize, isAtStart ? size : 0);
        const end = isAtStart ? bytes.length : bytes.length - size;
        for (const entry of index) {
          if (entry === undefined) continue;
          assert(entry.offset >= (isAtStart ? size : 0));
          assert(entry.offset + entry.length <= end);
        }
        const offsets = index.flatMap((it) => it?.length ? [it.offset] : []);
        assert(
          bytes.subarray(start, Math.min(end, ...offsets)).some(Boolean),
        );
      }
    }),
    { numRuns: 2000 },
  );
  assert(found > 20, `${found} found`);
});

Deno.test("FirstBytes finds nothing in what is no shard", () => {
  for (const layout of layoutsOf(3)) {
    const size = shardIndexSize(layout);
    for (const length of [0, 1, size - 1, size]) {
      const value = new FirstBytes(layout, 0);
      value.add(new Uint8Array(length).fill(255));
      assertEquals(value.areOthers(), false, `${length}`);
    }
  }
});

function sameLength(entry: ShardIndex[number]): Uint8Array | undefined {
  return entry && new Uint8Array(entry.length).fill(77);
}

function indexOf(shard: Uint8Array, layout: ShardLayout): ShardIndex {
  const size = shardIndexSize(layout);
  try {
    return decodeShardIndex(
      layout.indexLocation === "start"
        ? shard.subarray(0, size)
        : shard.subarray(-size),
      layout,
    );
  } catch (error) {
    if (error instanceof DamageError) return [];
    throw error;
  }
}
