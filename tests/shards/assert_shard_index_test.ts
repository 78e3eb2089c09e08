import { assert, assertThrows } from "@std/assert";
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
