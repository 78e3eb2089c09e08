/** Single inner chunks: the requests, nested shards, and damage. */
import { assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import {
  type ByteRange,
  ChecksumError,
  DamageError,
  encodeShard,
  readInnerChunk,
  readShardIndex,
  type ReadShardRange,
  type ShardIndex,
  type ShardLayout,
} from "../../mod.ts";
import {
  type ChunkBytes,
  decodeShard,
  innerChunksOf,
  readIndex,
} from "../../src/shards/mod.ts";
import {
  forEachChunk,
  layouts,
  layoutsOf,
  shardInputs,
} from "./arbitraries.ts";
import { slowCoordinates, slowIndexSize, slowShard } from "./slow_shard.ts";

const KEY = "/c/0";
const CHUNKS = [
  new Uint8Array([1, 2, 3]),
  undefined,
  new Uint8Array([4]),
  new Uint8Array(),
  undefined,
  new Uint8Array([7, 8, 9]),
];

/** A shard, or none, and the ranges read from it. */
function recorded(
  shard: Uint8Array | undefined,
): { read: ReadShardRange; ranges: ByteRange[] } {
  const ranges: ByteRange[] = [];
  return {
    ranges,
    read(range) {
      ranges.push({ ...range });
      const [start, end] = "suffixLength" in range
        ? [Math.max(0, (shard?.length ?? 0) - range.suffixLength), Infinity]
        : [range.offset, range.offset + range.length];
      return Promise.resolve(shard?.slice(start, end));
    },
  };
}

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
      const { read } = recorded(bytes);
      const index = await readShardIndex(read, layout);
      for (const [i, c] of slowCoordinates(layout.chunksPerShard).entries()) {
        assertEquals(await readInnerChunk(read, layout, c), chunks[i]);
        const given = await readInnerChunk(read, layout, c, { index });
        assertEquals(given, chunks[i]);
      }
      assertEquals(decodeShard(bytes, layout, KEY), chunks);
    }),
  );
});

Deno.test("readInnerChunk makes a request for the index unless it is given, and one for exactly the bytes", async () => {
  for (const layout of layoutsOf(2, 3)) {
    const { bytes, entries } = slowShard(CHUNKS, layout);
    const { read, ranges } = recorded(bytes);
    const index = await readShardIndex(read, layout);
    assertEquals(ranges.splice(0), [indexRange(layout)]);
    for (const [place, chunk] of CHUNKS.entries()) {
      const coordinates = [Math.floor(place / 3), place % 3];
      const [offset, length] = entries[place]!.map(Number);
      const wanted = chunk?.length
        ? [{ offset: offset!, length: length! }]
        : [];
      for (const given of [undefined, index]) {
        const options = { index: given, key: undefined };
        const found = await readInnerChunk(read, layout, coordinates, options);
        assertEquals(found, chunk);
        const requests = given ? wanted : [indexRange(layout), ...wanted];
        assertEquals(ranges.splice(0), requests);
      }
    }
    const none = recorded(undefined);
    assertEquals(await readInnerChunk(none.read, layout, [0, 0]), undefined);
    assertEquals(await readShardIndex(none.read, layout), undefined);
    assertEquals(none.ranges, [indexRange(layout), indexRange(layout)]);
  }
});

Deno.test("readInnerChunk rejects coordinates outside of the shard and a wrong index, before it reads anything", async () => {
  const wrong = [[2, 0], [0, 3], [-1, 0], [0, -1], [1, 3], [0, 0.5], [NaN, 0]]
    .concat([[0, Infinity], [], [0], [5], [0, 0, 0]])
    .concat([["0", 0], [0n, 0]] as unknown as number[][]);
  for (const layout of layoutsOf(2, 3)) {
    const { read, ranges } = recorded(encodeShard(CHUNKS, layout));
    for (const coordinates of wrong) {
      await assertRejects(
        () => readInnerChunk(read, layout, coordinates),
        RangeError,
        "Expected the coordinates of one of [2, 3] inner chunks, found [",
      );
    }
    const index: ShardIndex = [{ offset: 0, length: 1 }];
    await assertRejects(
      () => readInnerChunk(read, layout, [0, 0], { index }),
      RangeError,
      "Expected an index of 6 entries",
    );
    assertEquals(ranges, []);
  }
  const [layout] = layoutsOf();
  const { read } = recorded(encodeShard([CHUNKS[0]], layout!));
  assertEquals(await readInnerChunk(read, layout!, []), CHUNKS[0]);
  await assertRejects(() => readInnerChunk(read, layout!, [0]), RangeError);
});

/** All innermost chunks, found by walking the indexes. */
async function walk(
  shard: ChunkBytes,
  [layout, ...inner]: readonly ShardLayout[],
): Promise<Map<string, Uint8Array>> {
  const index = await readIndex(shard, layout!, KEY);
  const found = new Map<string, Uint8Array>();
  for (const chunk of innerChunksOf(shard, index!, layout!)) {
    if (inner.length > 0) {
      for (const [path, bytes] of await walk(chunk, inner)) {
        found.set(`${chunk.coordinates}/${path}`, bytes);
      }
    } else {
      const bytes = await chunk.read({ offset: 0, length: chunk.size });
      found.set(`${chunk.coordinates}`, bytes!);
    }
  }
  return found;
}

function bytesOf(shard: Uint8Array): ChunkBytes {
  const { read } = recorded(shard);
  return { size: shard.length, read };
}

Deno.test("readIndex and innerChunksOf walk shards nested in shards", async () => {
  const nested = fc.tuple(layouts, layouts).chain(([inner, outer]) =>
    fc.record({
      outer: fc.constant(outer),
      inner: fc.constant(inner),
      shards: forEachChunk(
        outer,
        forEachChunk(inner, fc.uint8Array({ maxLength: 9 })),
      ),
      alignment: fc.constantFrom(1, 7, 16),
    })
  );
  await fc.assert(
    fc.asyncProperty(nested, async ({ outer, inner, shards, alignment }) => {
      const shard = encodeShard(
        shards.map((chunks) => chunks && encodeShard(chunks, inner)),
        outer,
        { alignment },
      );
      const expected = new Map<string, Uint8Array>();
      const innerCoordinates = slowCoordinates(inner.chunksPerShard);
      for (const [i, c] of slowCoordinates(outer.chunksPerShard).entries()) {
        shards[i]?.forEach((chunk, j) =>
          chunk && expected.set(`${c}/${innerCoordinates[j]}`, chunk)
        );
      }
      assertEquals(await walk(bytesOf(shard), [outer, inner]), expected);
    }),
    { numRuns: 40 },
  );
});

Deno.test("readIndex and decodeShard reject a shard that is damaged or shorter than its index", async () => {
  for (const layout of layoutsOf(2)) {
    const size = slowIndexSize(layout);
    const shard = encodeShard([new Uint8Array(3), undefined], layout);
    const wrong = [new Uint8Array(size - 1), shard.subarray(0, -1)];
    for (const bytes of wrong) {
      const length = bytes.length < size
        ? `The shard of "${KEY}" is ${
          size - 1
        } bytes long, where its index takes ${size}`
        : KEY;
      await assertRejects(
        () => readIndex(bytesOf(bytes), layout, KEY),
        DamageError,
        length,
      );
      await assertRejects(
        // deno-lint-ignore require-await -- so that an error is a rejection
        async () => decodeShard(bytes, layout, KEY),
        DamageError,
        length,
      );
    }
  }
});

Deno.test("readInnerChunk and readShardIndex reject a shard that was cut short, or read what is whole", async () => {
  for (const layout of layoutsOf(2, 3)) {
    const shard = encodeShard(CHUNKS, layout);
    const size = slowIndexSize(layout);
    for (let length = 0; length < shard.length; length++) {
      const { read } = recorded(shard.subarray(0, length));
      const reading = () => readInnerChunk(read, layout, [1, 2], { key: KEY });
      if (length < size) {
        const message =
          `The index of "${KEY}" is ${length} bytes long, where [2, 3] inner chunks take ${size}`;
        await assertRejects(reading, DamageError, message);
        await assertRejects(
          () => readShardIndex(read, layout, KEY),
          DamageError,
          message,
        );
      } else if (layout.indexLocation === "start") {
        await assertRejects(
          reading,
          DamageError,
          `inner chunk [1, 2] of "${KEY}" takes 3 bytes from ${
            size + 4
          } on, where ${Math.max(0, length - size - 4)} could be read`,
        );
        const isWhole = length >= size + 3;
        const first = () => readInnerChunk(read, layout, [0, 0]);
        if (isWhole) assertEquals(await first(), CHUNKS[0]);
        else {await assertRejects(
            first,
            DamageError,
            "inner chunk [0, 0] takes",
          );}
      } else if (layout.indexHasChecksum) {
        const error = await assertRejects(reading, ChecksumError, KEY);
        assertEquals(error.key, KEY);
      }
    }
  }
});
