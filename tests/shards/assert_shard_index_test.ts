import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import {
  assertShardIndex,
  DamageError,
  decodeShardIndex,
  encodeShard,
  type ShardIndex,
  shardIndexSize,
  type ShardLayout,
} from "../../mod.ts";
import { forEachChunk, layouts, shardInputs } from "./arbitraries.ts";

/** Whether an index can be right, by a map of who owns each byte of the shard. */
function isSound(
  index: ShardIndex,
  layout: ShardLayout,
  shardSize: number,
): boolean {
  const indexSize = shardIndexSize(layout);
  const owners: string[] = Array(shardSize).fill("none");
  if (layout.indexLocation === "start") owners.fill("index", 0, indexSize);
  else owners.fill("index", shardSize - indexSize);
  for (const [i, entry] of index.entries()) {
    if (entry === undefined) continue;
    const { offset, length } = entry;
    const isShared = index.slice(0, i).some((other) =>
      other?.offset === offset && other.length === length
    );
    if (isShared) continue;
    for (let byte = offset; byte < offset + length; byte++) {
      if (owners[byte] !== "none") return false;
      owners[byte] = `inner chunk ${i}`;
    }
    // An empty one has a place all the same, on the chunks' side of the index.
    const before = owners.slice(0, offset);
    const indexBefore = before.filter((owner) => owner === "index").length;
    const expected = layout.indexLocation === "start" ? indexSize : 0;
    if (offset > shardSize || indexBefore !== expected) return false;
  }
  return true;
}

/** Whether `assertShardIndex` accepts it; any other error than its own is thrown. */
function isAccepted(
  index: ShardIndex,
  layout: ShardLayout,
  shardSize: number,
): boolean {
  try {
    assertShardIndex(index, layout, shardSize);
    return true;
  } catch (error) {
    if (error instanceof DamageError) return false;
    throw error;
  }
}

/** Refuses or accepts an index as the map of bytes says. */
function assertAsTheMapSays(
  index: ShardIndex,
  layout: ShardLayout,
  shardSize: number,
): boolean {
  const sound = isSound(index, layout, shardSize);
  const text = JSON.stringify({ index, layout, shardSize });
  assert(isAccepted(index, layout, shardSize) === sound, text);
  return sound;
}

function indexOf(shard: Uint8Array, layout: ShardLayout): ShardIndex {
  const size = shardIndexSize(layout);
  return decodeShardIndex(
    layout.indexLocation === "start"
      ? shard.subarray(0, size)
      : shard.subarray(-size),
    layout,
  );
}

Deno.test("assertShardIndex accepts every shard that encodeShard makes", () => {
  fc.assert(
    fc.property(shardInputs, ({ layout, chunks, options }) => {
      const shard = encodeShard(chunks, layout, options);
      const index = indexOf(shard, layout);
      assertShardIndex(index, layout, shard.length);
      assert(assertAsTheMapSays(index, layout, shard.length));
    }),
    { numRuns: 300 },
  );
});

Deno.test("assertShardIndex rejects a change by one byte exactly if a map of bytes does", () => {
  const outcomes = { harmless: 0, refused: 0 };
  fc.assert(
    fc.property(shardInputs, ({ layout, chunks, options }) => {
      const shard = encodeShard(chunks, layout, options);
      const index = indexOf(shard, layout);
      for (const [i, entry] of index.entries()) {
        if (entry === undefined) continue;
        for (const [a, b] of DAMAGES) {
          const offset = entry.offset + a;
          const length = entry.length + b;
          if (offset < 0 || length < 0) continue;
          const damaged = index.with(i, { offset, length });
          const sound = assertAsTheMapSays(damaged, layout, shard.length);
          outcomes[sound ? "harmless" : "refused"]++;
        }
      }
      for (const size of [shard.length - 1, shard.length + 1]) {
        if (size < shardIndexSize(layout)) continue;
        assertAsTheMapSays(index, layout, size);
      }
    }),
    { numRuns: 300 },
  );
  const { harmless, refused } = outcomes;
  assert(harmless > 100 && refused > 100, JSON.stringify(outcomes));
});

/** The changes of an offset and of a length. */
const DAMAGES = [-1, 0, 1].flatMap((a) => [-1, 0, 1].map((b) => [a, b]))
  .filter(([a, b]) => a !== 0 || b !== 0) as [number, number][];

Deno.test("assertShardIndex agrees with a map of bytes on any entries in a small shard", () => {
  const outcomes = { sound: 0, unsound: 0 };
  fc.assert(
    fc.property(
      layouts.filter((layout) => shardIndexSize(layout) <= 100)
        .chain((layout) =>
          fc.record({
            layout: fc.constant(layout),
            space: fc.integer({ min: 0, max: 40 }),
            // Relative to the earliest start of an inner chunk, so that many are valid.
            index: forEachChunk(
              layout,
              fc.record({
                offset: fc.integer({ min: -2, max: 42 }),
                length: fc.oneof(fc.nat(3), fc.nat(42)),
              }),
            ),
          })
        ),
      ({ layout, space, index }) => {
        const size = shardIndexSize(layout);
        const first = layout.indexLocation === "start" ? size : 0;
        const placed = index.map((entry) =>
          entry && { ...entry, offset: Math.max(0, first + entry.offset) }
        );
        const sound = assertAsTheMapSays(placed, layout, size + space);
        outcomes[sound ? "sound" : "unsound"]++;
      },
    ),
    { numRuns: 2000 },
  );
  const { sound, unsound } = outcomes;
  assert(sound > 100 && unsound > 100, JSON.stringify(outcomes));
});

Deno.test("assertShardIndex rejects a shard that is truncated", () => {
  fc.assert(
    fc.property(shardInputs, fc.nat(), ({ layout, chunks, options }, cut) => {
      const shard = encodeShard(chunks, layout, options);
      const index = indexOf(shard, layout);
      const size = cut % shardIndexSize(layout);
      assertThrows(
        () => assertShardIndex(index, layout, size),
        DamageError,
        `The shard is ${size} bytes long, where its index takes ${
          shardIndexSize(layout)
        }`,
      );
    }),
  );
});

const AT_END = {
  chunksPerShard: [3],
  indexLocation: "end",
  indexEndian: "little",
  indexHasChecksum: true,
} as const;
const AT_START = { ...AT_END, indexLocation: "start" } as const;
const INDEX_SIZE = 52;

/** The message for an index that is refused in a shard of 100 bytes beside its index. */
function refusal(
  index: ShardIndex,
  layout: typeof AT_END | typeof AT_START = AT_END,
  key = "/c/0",
): string {
  const size = 100 + INDEX_SIZE;
  const { message } = assertThrows(
    () => assertShardIndex(index, layout, size, key),
    DamageError,
  );
  return message;
}

Deno.test("assertShardIndex accepts inner chunks that touch each other, the shard's ends and its index", () => {
  const index = [
    { offset: 40, length: 60 },
    { offset: 0, length: 39 },
    { offset: 39, length: 1 },
  ];
  assertShardIndex(index, AT_END, 100 + INDEX_SIZE);
  const moved = index.map(({ offset, length }) => (
    { offset: offset + INDEX_SIZE, length }
  ));
  assertShardIndex(moved, AT_START, 100 + INDEX_SIZE);
});

Deno.test("assertShardIndex names the inner chunk that is outside of the shard by one byte", () => {
  const index = [undefined, undefined, { offset: 51, length: 50 }];
  assertEquals(
    refusal(index),
    'Inner chunk 2 of "/c/0" has 50 bytes from 51 on, where the shard has inner chunks from 0 to 100',
  );
  assertEquals(
    refusal(index, AT_START),
    'Inner chunk 2 of "/c/0" has 50 bytes from 51 on, where the shard has inner chunks from 52 to 152',
  );
  assertEquals(
    refusal([{ offset: 103, length: 50 }, undefined, undefined], AT_START, ""),
    "Inner chunk 0 has 50 bytes from 103 on, where the shard has inner chunks from 52 to 152",
  );
});

Deno.test("assertShardIndex rejects offsets counted without the index before them", () => {
  refusal([{ offset: 0, length: 9 }, undefined, undefined], AT_START);
});

Deno.test("assertShardIndex names both inner chunks that overlap, in C order, and the byte", () => {
  const overlapping = { offset: 10, length: 11 };
  const next = { offset: 20, length: 5 };
  const message = 'Inner chunks 0 and 2 of "/c/0" overlap at byte 20';
  assertEquals(refusal([overlapping, undefined, next]), message);
  assertEquals(refusal([next, undefined, overlapping]), message);
  assertEquals(
    refusal([undefined, next, overlapping], AT_END, ""),
    "Inner chunks 1 and 2 overlap at byte 20",
  );
});

Deno.test("assertShardIndex rejects an inner chunk within another, and accepts several at the same place", () => {
  const large = { offset: 0, length: 100 };
  assertEquals(
    refusal([large, undefined, { offset: 99, length: 1 }], AT_END, ""),
    "Inner chunks 0 and 2 overlap at byte 99",
  );
  assertShardIndex([undefined, large, large], AT_END, 152);
  for (const other of [{ offset: 0, length: 99 }, { offset: 1, length: 99 }]) {
    assertEquals(
      refusal([large, large, other], AT_END, ""),
      `Inner chunks ${
        other.offset === 0 ? "0" : "1"
      } and 2 overlap at byte ${other.offset}`,
    );
  }
});

Deno.test("assertShardIndex accepts an empty inner chunk beside or within another", () => {
  const large = { offset: 10, length: 90 };
  for (const offset of [0, 10, 11, 99, 100]) {
    const empty = { offset, length: 0 };
    assertShardIndex([large, empty, empty], AT_END, 152);
    assertShardIndex([empty, undefined, large], AT_END, 152);
  }
});

Deno.test("assertShardIndex rejects an empty inner chunk in the index or past the shard", () => {
  const at = (offset: number) => [undefined, { offset, length: 0 }, undefined];
  assertShardIndex(at(100), AT_END, 152);
  for (const offset of [101, 152, 153]) refusal(at(offset));
  assertShardIndex(at(52), AT_START, 152);
  assertShardIndex(at(152), AT_START, 152);
  for (const offset of [0, 51, 153]) refusal(at(offset), AT_START);
});

Deno.test("assertShardIndex accepts a shard that is only its index, and rejects a shorter one", () => {
  const none = [undefined, undefined, undefined];
  for (const layout of [AT_END, AT_START]) {
    assertShardIndex(none, layout, INDEX_SIZE);
    const { message } = assertThrows(
      () => assertShardIndex(none, layout, INDEX_SIZE - 1, "/c/0"),
      DamageError,
    );
    assertEquals(
      message,
      'The shard "/c/0" is 51 bytes long, where its index takes 52',
    );
  }
});

Deno.test("assertShardIndex rejects offsets and lengths up to 2^53−1 as damage, and numbers that no index has as a mistake", () => {
  const most = Number.MAX_SAFE_INTEGER;
  refusal([{ offset: most, length: 0 }, undefined, undefined]);
  refusal([{ offset: 0, length: most }, undefined, undefined]);
  const index = [{ offset: most, length: 1 }, undefined, undefined];
  assertThrows(() => assertShardIndex(index, AT_END, 152), RangeError);
});

Deno.test("assertShardIndex does not reorder the index", () => {
  const index = [{ offset: 9, length: 1 }, undefined, { offset: 0, length: 9 }];
  assertShardIndex(index, AT_END, 152);
  assertEquals(index[0], { offset: 9, length: 1 });
});
