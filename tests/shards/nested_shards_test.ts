import { assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import {
  ChecksumError,
  DamageError,
  encodeShard,
  parseShardLayout,
  readInnerChunk,
  readShardIndex,
  type ReadShardRange,
} from "../../mod.ts";
import { countingBytes } from "../support/bytes.ts";
import { forEachChunk, layouts, layoutsOf } from "./arbitraries.ts";
import { recordedShard } from "./recorded_shard.ts";
import { slowCoordinates, slowIndexSize } from "./slow_shard.ts";

/** Reads ranges of an inner chunk as ranges of the shard that has it. */
function within(
  read: ReadShardRange,
  { offset, length }: { offset: number; length: number },
): ReadShardRange {
  return (range) => {
    const start = "suffixLength" in range
      ? Math.max(0, length - range.suffixLength)
      : Math.min(range.offset, length);
    const wanted = "suffixLength" in range ? range.suffixLength : range.length;
    return read({
      offset: offset + start,
      length: Math.min(wanted, length - start),
    });
  };
}

/** A shard whose inner chunks are shards of one layout, and the inner chunks of those. */
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

Deno.test("readInnerChunk reads each inner chunk of nested shards", async () => {
  await fc.assert(
    fc.asyncProperty(nested, async ({ outer, inner, shards, alignment }) => {
      const shard = encodeShard(
        shards.map((chunks) => chunks && encodeShard(chunks, inner)),
        outer,
        { alignment },
      );
      const { read } = recordedShard(shard);
      const index = (await readShardIndex(read, outer))!;
      const coordinates = slowCoordinates(inner.chunksPerShard);
      for (const [i, chunks] of shards.entries()) {
        assertEquals(index[i] === undefined, chunks === undefined);
        if (chunks === undefined) continue;
        for (const [j, chunk] of chunks.entries()) {
          assertEquals(
            await readInnerChunk(
              within(read, index[i]!),
              inner,
              coordinates[j]!,
            ),
            chunk,
          );
        }
      }
    }),
    { numRuns: 30 },
  );
});

Deno.test("readInnerChunk reads an inner chunk that is a shard whole, and then from its bytes", async () => {
  for (const inner of layoutsOf(2)) {
    for (const outer of layoutsOf(1, 2)) {
      const chunk = countingBytes(5);
      const innerShard = encodeShard([undefined, chunk], inner);
      const { read } = recordedShard(
        encodeShard([undefined, innerShard], outer),
      );
      const bytes = await readInnerChunk(read, outer, [0, 1]);
      assertEquals(bytes, innerShard);
      const { read: readAgain } = recordedShard(bytes);
      assertEquals(await readInnerChunk(readAgain, inner, [1]), chunk);
      assertEquals(await readInnerChunk(readAgain, inner, [0]), undefined);
    }
  }
});

Deno.test("readInnerChunk reads shards nested twice with one request per level, and one for the bytes", async () => {
  for (const layout of layoutsOf(1, 2)) {
    const chunk = countingBytes(7);
    let shard = chunk;
    for (let level = 0; level < 3; level++) {
      shard = encodeShard([countingBytes(level + 1, 100), shard], layout);
    }
    const { read, ranges } = recordedShard(shard);
    let readLevel = read;
    for (let level = 0; level < 2; level++) {
      const index = await readShardIndex(readLevel, layout);
      readLevel = within(readLevel, index![1]!);
    }
    assertEquals(await readInnerChunk(readLevel, layout, [0, 1]), chunk);
    const size = slowIndexSize(layout);
    assertEquals(
      ranges.map((it) => "length" in it ? it.length : it.suffixLength),
      [size, size, size, 7],
    );
  }
});

Deno.test("readInnerChunk rejects a nested shard with a damaged index, and reads its neighbour", async () => {
  for (const layout of layoutsOf(2).filter((it) => it.indexHasChecksum)) {
    const whole = encodeShard([countingBytes(3), undefined], layout);
    const damaged = whole.slice();
    damaged[layout.indexLocation === "start" ? 0 : 3]! ^= 1;
    const { read } = recordedShard(encodeShard([damaged, whole], layout));
    const index = (await readShardIndex(read, layout))!;
    await assertRejects(
      () => readInnerChunk(within(read, index[0]!), layout, [0]),
      ChecksumError,
    );
    assertEquals(
      await readInnerChunk(within(read, index[1]!), layout, [0]),
      countingBytes(3),
    );
  }
});

Deno.test("readInnerChunk rejects an inner chunk that is shorter than the index of a nested shard", async () => {
  for (const layout of layoutsOf(2)) {
    const short = countingBytes(slowIndexSize(layout) - 1);
    const { read } = recordedShard(encodeShard([short, short], layout));
    const index = (await readShardIndex(read, layout))!;
    for (const entry of index) {
      await assertRejects(
        () => readInnerChunk(within(read, entry!), layout, [0]),
        DamageError,
        `is ${short.length} bytes long`,
      );
    }
  }
});

Deno.test("parseShardLayout returns the layouts of nested shards", async () => {
  const sharding = (chunk_shape: number[], ...codecs: unknown[]) => ({
    name: "sharding_indexed",
    configuration: {
      chunk_shape,
      codecs,
      index_codecs: [{ name: "bytes", configuration: { endian: "big" } }],
      index_location: "start",
    },
  });
  const innerCodec = sharding([2, 3], "packbits");
  const outer = parseShardLayout(sharding([4, 3], innerCodec), [8, 9]);
  const inner = parseShardLayout(innerCodec, [4, 3]);
  const innerShards = [0, 10, 20, 30, 40, 50].map((first) =>
    encodeShard([new Uint8Array([first]), new Uint8Array([first + 1])], inner)
  );
  const { read } = recordedShard(encodeShard(innerShards, outer));
  const index = await readShardIndex(read, outer);
  assertEquals(
    await readInnerChunk(within(read, index![3 * 1 + 2]!), inner, [1, 0]),
    new Uint8Array([51]),
  );
});
