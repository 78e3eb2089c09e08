import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertRejects,
} from "@std/assert";
import {
  ChecksumError,
  DamageError,
  encodeShard,
  readInnerChunk,
  readShardIndex,
  type ShardLayout,
} from "../../mod.ts";
import { layoutsOf } from "./arbitraries.ts";
import { recordedShard } from "./recorded_shard.ts";
import { slowIndexSize } from "./slow_shard.ts";

const KEY = "/c/0";
const CHUNKS = [new Uint8Array([1, 2, 3]), undefined, new Uint8Array([4, 5])];

/** Layouts of three inner chunks that a predicate chooses, at least one. */
function layoutsWith(isMeant: (layout: ShardLayout) => boolean): ShardLayout[] {
  const layouts = layoutsOf(3).filter(isMeant);
  assert(layouts.length > 0);
  return layouts;
}

Deno.test("readInnerChunk and readShardIndex reject a shard that is one byte shorter than its index", async () => {
  for (const layout of layoutsOf(3)) {
    const size = slowIndexSize(layout);
    for (const length of [0, 1, size - 1]) {
      const { read } = recordedShard(new Uint8Array(length));
      const message =
        `The index of "/c/0" is ${length} bytes long, where [3] inner chunks take ${size}`;
      await assertRejects(
        () => readShardIndex(read, layout, KEY),
        DamageError,
        message,
      );
      await assertRejects(
        () => readInnerChunk(read, layout, [0], { key: KEY }),
        DamageError,
        message,
      );
    }
  }
});

Deno.test("readInnerChunk reads a shard that is only its index", async () => {
  for (const layout of layoutsOf(3)) {
    const shard = encodeShard(Array(3).fill(undefined), layout);
    assertEquals(shard.length, slowIndexSize(layout));
    const { read } = recordedShard(shard);
    assertEquals(await readInnerChunk(read, layout, [2]), undefined);
  }
});

Deno.test("readInnerChunk rejects a shard truncated anywhere if the index is at the end and has a checksum", async () => {
  for (
    const layout of layoutsWith((it) =>
      it.indexLocation === "end" && it.indexHasChecksum
    )
  ) {
    const shard = encodeShard(CHUNKS, layout);
    for (let length = 0; length < shard.length; length++) {
      const { read, ranges } = recordedShard(shard.slice(0, length));
      const error = await assertRejects(
        () => readInnerChunk(read, layout, [0], { key: KEY }),
        Error,
        KEY,
      );
      const isWhole = length >= slowIndexSize(layout);
      assertInstanceOf(error, isWhole ? ChecksumError : DamageError);
      if (isWhole) assertEquals((error as ChecksumError).key, KEY);
      assertEquals(ranges.length, 1);
    }
  }
});

Deno.test("readInnerChunk rejects an inner chunk truncated by one byte if the index is at the start", async () => {
  for (const layout of layoutsWith((it) => it.indexLocation === "start")) {
    const shard = encodeShard(CHUNKS, layout);
    for (const [missing, left] of [[1, 1], [2, 0], [3, 0]]) {
      const { read } = recordedShard(shard.slice(0, -missing!));
      const offset = slowIndexSize(layout) + 3;
      const refused = (key?: string) =>
        assertRejects(
          () => readInnerChunk(read, layout, [2], { key }),
          DamageError,
          `inner chunk [2]${
            key ? ` of "${key}"` : ""
          } takes 2 bytes from ${offset} on, where ${left} could be read`,
        );
      await refused();
      await refused(KEY);
    }
    // Inner chunks that are whole can still be read.
    const { read } = recordedShard(shard.slice(0, -2));
    assertEquals(await readInnerChunk(read, layout, [0]), CHUNKS[0]);
  }
});

Deno.test("readInnerChunk rejects a shard that is deleted after its index was read", async () => {
  for (const layout of layoutsOf(3)) {
    const { read } = recordedShard(encodeShard(CHUNKS, layout));
    let requests = 0;
    await assertRejects(
      () =>
        readInnerChunk(
          (range) =>
            requests++ === 0 ? read(range) : Promise.resolve(undefined),
          layout,
          [2],
          { key: KEY },
        ),
      DamageError,
      'inner chunk [2] of "/c/0" takes 2 bytes from',
    );
    assertEquals(requests, 2);
  }
});

Deno.test("readInnerChunk rejects more bytes than requested", async () => {
  for (const layout of layoutsOf(3)) {
    const { read } = recordedShard(encodeShard(CHUNKS, layout));
    const index = await readShardIndex(read, layout);
    await assertRejects(
      () =>
        readInnerChunk(
          () => Promise.resolve(new Uint8Array(3)),
          layout,
          [2],
          { index },
        ),
      DamageError,
      "on, where 3 could be read",
    );
  }
});

Deno.test("readInnerChunk names the shard with a wrong checksum", async () => {
  for (const layout of layoutsWith((it) => it.indexHasChecksum)) {
    const shard = encodeShard(CHUNKS, layout);
    const last = layout.indexLocation === "start"
      ? slowIndexSize(layout) - 1
      : shard.length - 1;
    shard[last]! ^= 0x80;
    const { read } = recordedShard(shard);
    for (
      const run of [
        () => readInnerChunk(read, layout, [0], { key: KEY }),
        () => readShardIndex(read, layout, KEY),
      ]
    ) {
      const error = await assertRejects(run, ChecksumError, `of "${KEY}"`);
      assertEquals(error.key, KEY);
    }
  }
});

Deno.test("readInnerChunk and readShardIndex rethrow errors of reading", async () => {
  const broken = () => Promise.reject(new Error("Connection lost"));
  for (const layout of layoutsOf(3)) {
    for (
      const run of [
        () => readInnerChunk(broken, layout, [0]),
        () => readShardIndex(broken, layout),
        () =>
          readInnerChunk(broken, layout, [0], {
            index: [{ offset: 0, length: 1 }, undefined, undefined],
          }),
      ]
    ) {
      await assertRejects(run, Error, "Connection lost");
    }
  }
});
