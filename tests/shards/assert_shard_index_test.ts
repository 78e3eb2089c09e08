import { assert, assertThrows } from "@std/assert";
import fc from "fast-check";
import {
  assertShardIndex,
  DamageError,
  type ShardIndex,
  shardIndexSize,
  type ShardLayout,
} from "../../mod.ts";
import { forEachChunk, layouts } from "./arbitraries.ts";

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

const AT_END = {
  chunksPerShard: [3],
  indexLocation: "end",
  indexEndian: "little",
  indexHasChecksum: true,
} as const;
const AT_START = { ...AT_END, indexLocation: "start" } as const;

type Entry = readonly [offset: number, length: number] | undefined;

/** Indexes that are refused in a shard of 100 bytes beside its index of 52, and the messages. */
const REFUSED: [Entry[], ShardLayout, string][] = [
  [
    [undefined, undefined, [51, 50]],
    AT_END,
    'Inner chunk 2 of "/c/0" has 50 bytes from 51 on, where the shard has inner chunks from 0 to 100',
  ],
  [
    [undefined, undefined, [51, 50]],
    AT_START,
    'Inner chunk 2 of "/c/0" has 50 bytes from 51 on, where the shard has inner chunks from 52 to 152',
  ],
  [[[103, 50]], AT_START, "from 103 on, where the shard has inner chunks"],
  [[[0, 9]], AT_START, "Inner chunk 0"], // Counted without the index before it.
  [[[Number.MAX_SAFE_INTEGER, 0]], AT_END, "Inner chunk 0"],
  [[[0, Number.MAX_SAFE_INTEGER]], AT_END, "Inner chunk 0"],
  [[undefined, [101, 0]], AT_END, "Inner chunk 1"],
  [[undefined, [51, 0]], AT_START, "Inner chunk 1"],
  [
    [[10, 11], undefined, [20, 5]],
    AT_END,
    'Inner chunks 0 and 2 of "/c/0" overlap at byte 20',
  ],
  [[[20, 5], undefined, [10, 11]], AT_END, "Inner chunks 0 and 2 of"],
  [
    [[0, 100], undefined, [99, 1]],
    AT_END,
    '0 and 2 of "/c/0" overlap at byte 99',
  ],
  [
    [[0, 100], [0, 100], [0, 99]],
    AT_END,
    '0 and 2 of "/c/0" overlap at byte 0',
  ],
  [
    [[0, 100], [0, 100], [1, 99]],
    AT_END,
    '1 and 2 of "/c/0" overlap at byte 1',
  ],
];

for (const [entries, layout, message] of REFUSED) {
  Deno.test(`assertShardIndex refuses ${Deno.inspect(entries)} with the index at the ${layout.indexLocation}`, () => {
    const index = [0, 1, 2].map((place) => {
      const entry = entries[place];
      return entry && { offset: entry[0], length: entry[1] };
    });
    assertThrows(
      () => assertShardIndex(index, layout, 152, "/c/0"),
      DamageError,
      message,
    );
    assertThrows(() => assertShardIndex(index, layout, 152), DamageError);
  });
}

Deno.test("assertShardIndex rejects a shard shorter than its index, and values that are not an index of the layout", () => {
  const none = [undefined, undefined, undefined];
  for (const layout of [AT_END, AT_START]) {
    assertShardIndex(none, layout, 52);
    for (const size of [51, 0, -1, NaN]) {
      assertThrows(
        () => assertShardIndex(none, layout, size, "/c/0"),
        DamageError,
        `The shard of "/c/0" is ${size} bytes long, where its index takes 52`,
      );
    }
  }
  const chunk = { offset: 0, length: 1 };
  const wrong: ShardIndex[] = [
    [],
    [chunk, undefined],
    [...none, undefined],
    [{ offset: 50, length: -5 }, undefined, undefined],
    [{ offset: 0.5, length: 0.5 }, undefined, undefined],
    [{ offset: Number.MAX_SAFE_INTEGER, length: 1 }, undefined, undefined],
  ];
  for (const index of wrong) {
    assertThrows(() => assertShardIndex(index, AT_END, 152), RangeError);
  }
});
