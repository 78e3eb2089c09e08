import { assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import {
  type ByteRange,
  decodeShardIndex,
  encodeShard,
  readInnerChunk,
  readShardIndex,
  type ShardLayout,
} from "../../mod.ts";
import { layoutsOf, shardInputs } from "./arbitraries.ts";
import { recordedShard } from "./recorded_shard.ts";
import { slowCoordinates, slowIndexSize, slowShard } from "./slow_shard.ts";

const CHUNKS = [
  new Uint8Array([1, 2, 3]),
  undefined,
  new Uint8Array([4]),
  new Uint8Array([5, 6]),
  undefined,
  new Uint8Array([7, 8, 9]),
];

/** The range of an index. */
function indexRange(layout: ShardLayout): ByteRange {
  const length = slowIndexSize(layout);
  return layout.indexLocation === "start"
    ? { offset: 0, length }
    : { suffixLength: length };
}

Deno.test("readInnerChunk reads each inner chunk of any shard by its coordinates", async () => {
  await fc.assert(
    fc.asyncProperty(shardInputs, async ({ layout, chunks, options }) => {
      const { bytes } = slowShard(chunks, layout, options);
      const { read } = recordedShard(bytes);
      const index = await readShardIndex(read, layout);
      const all = slowCoordinates(layout.chunksPerShard);
      for (const [i, coordinates] of all.entries()) {
        const chunk = chunks[i];
        assertEquals(await readInnerChunk(read, layout, coordinates), chunk);
        assertEquals(
          await readInnerChunk(read, layout, coordinates, { index }),
          chunk,
        );
      }
    }),
  );
});

Deno.test("readShardIndex reads only the index, with one request", async () => {
  for (const layout of layoutsOf(2, 3)) {
    const shard = encodeShard(CHUNKS, layout);
    const { read, ranges } = recordedShard(shard);
    const size = slowIndexSize(layout);
    const expected = decodeShardIndex(
      layout.indexLocation === "start"
        ? shard.slice(0, size)
        : shard.slice(-size),
      layout,
    );
    assertEquals(await readShardIndex(read, layout), expected);
    assertEquals(ranges, [indexRange(layout)]);
  }
});

Deno.test("readInnerChunk makes two requests: for the index, and for exactly the inner chunk", async () => {
  for (const layout of layoutsOf(2, 3)) {
    const { bytes, entries } = slowShard(CHUNKS, layout);
    const { read, ranges } = recordedShard(bytes);
    assertEquals(await readInnerChunk(read, layout, [1, 2]), CHUNKS[5]);
    const [offset, length] = entries[5]!.map(Number);
    assertEquals(ranges, [
      indexRange(layout),
      { offset: offset!, length: length! },
    ]);
  }
});

Deno.test("readInnerChunk makes one request if the index is given, and none for an absent inner chunk", async () => {
  for (const layout of layoutsOf(2, 3)) {
    const { bytes, entries } = slowShard(CHUNKS, layout);
    const { read, ranges } = recordedShard(bytes);
    const index = await readShardIndex(read, layout);
    ranges.length = 0;
    assertEquals(
      await readInnerChunk(read, layout, [1, 0], { index }),
      CHUNKS[3],
    );
    const [offset, length] = entries[3]!.map(Number);
    assertEquals(ranges, [{ offset: offset!, length: length! }]);
    ranges.length = 0;
    assertEquals(
      await readInnerChunk(read, layout, [1, 1], { index }),
      undefined,
    );
    assertEquals(ranges, []);
  }
});

Deno.test("readInnerChunk makes one request if the inner chunk is absent", async () => {
  for (const layout of layoutsOf(2, 3)) {
    const { read, ranges } = recordedShard(encodeShard(CHUNKS, layout));
    assertEquals(await readInnerChunk(read, layout, [0, 1]), undefined);
    assertEquals(ranges, [indexRange(layout)]);
  }
});

Deno.test("readInnerChunk and readShardIndex make one request if the shard is absent", async () => {
  for (const layout of layoutsOf(2, 3)) {
    const { read, ranges } = recordedShard(undefined);
    assertEquals(await readInnerChunk(read, layout, [0, 0]), undefined);
    assertEquals(ranges, [indexRange(layout)]);
    assertEquals(await readShardIndex(read, layout), undefined);
    assertEquals(ranges, [indexRange(layout), indexRange(layout)]);
  }
});

Deno.test("readInnerChunk returns no bytes for an empty inner chunk, and not undefined", async () => {
  for (const layout of layoutsOf(2)) {
    const shard = encodeShard([new Uint8Array(), undefined], layout);
    const { read } = recordedShard(shard);
    assertEquals(await readInnerChunk(read, layout, [0]), new Uint8Array());
    assertEquals(await readInnerChunk(read, layout, [1]), undefined);
  }
});

Deno.test("readInnerChunk treats undefined options as absent", async () => {
  for (const layout of layoutsOf(2, 3)) {
    const { read } = recordedShard(encodeShard(CHUNKS, layout));
    assertEquals(
      await readInnerChunk(read, layout, [0, 0], {
        index: undefined,
        key: undefined,
      }),
      CHUNKS[0],
    );
  }
});

Deno.test("readInnerChunk rejects coordinates outside of the shard by one, before it reads anything", async () => {
  const wrong = [
    [2, 0],
    [0, 3],
    [-1, 0],
    [0, -1],
    [1, 3],
    [0, 0.5],
    [NaN, 0],
    [0, Infinity],
    ["0", 0],
    [0n, 0],
    [],
    [0],
    [5],
    [0, 0, 0],
  ] as number[][];
  for (const layout of layoutsOf(2, 3)) {
    const { read, ranges } = recordedShard(encodeShard(CHUNKS, layout));
    for (const coordinates of wrong) {
      await assertRejects(
        () => readInnerChunk(read, layout, coordinates),
        RangeError,
        "Expected the coordinates of one of [2, 3] inner chunks, found [",
      );
    }
    assertEquals(ranges, []);
    assertEquals(await readInnerChunk(read, layout, [1, 2]), CHUNKS[5]);
  }
  const [layout] = layoutsOf();
  const { read } = recordedShard(encodeShard([CHUNKS[0]], layout!));
  assertEquals(await readInnerChunk(read, layout!, []), CHUNKS[0]);
  await assertRejects(() => readInnerChunk(read, layout!, [0]), RangeError);
});
