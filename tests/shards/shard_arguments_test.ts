import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import {
  assertShardIndex,
  DamageError,
  encodeShard,
  MetadataError,
  parseShardLayout,
  readInnerChunk,
  type ShardIndex,
  shardIndexSize,
} from "../../mod.ts";

const LAYOUT = {
  chunksPerShard: [2],
  indexLocation: "end",
  indexEndian: "little",
  indexHasChecksum: false,
} as const;

Deno.test("shardIndexSize counts up to 2^53−1", () => {
  const chunksPerShard = [2 ** 49 - 1];
  assertEquals(shardIndexSize({ ...LAYOUT, chunksPerShard }), 2 ** 53 - 16);
});

Deno.test("parseShardLayout rejects a shard without elements, and invalid codecs", () => {
  const codec = {
    name: "sharding_indexed",
    configuration: {
      chunk_shape: [2, 2],
      index_codecs: [
        { name: "bytes", configuration: { endian: "little" } },
        { name: "crc32c" },
      ],
      codecs: ["bytes"],
    },
  };
  parseShardLayout(codec, [4, 4]);
  for (const shape of [[0, 4], [4, -4], [4, NaN], [4, 3]]) {
    const error = assertThrows(
      () => parseShardLayout(codec, shape),
      MetadataError,
    );
    assertEquals(error.path, "/configuration/chunk_shape");
  }
  const { configuration } = codec;
  const [bytes] = configuration.index_codecs;
  const crc32c = { name: "crc32c", configuration: { level: 1 } };
  for (
    const [changes, path] of [
      [{ codecs: [] }, "/configuration/codecs"],
      [
        { index_codecs: [bytes, crc32c] },
        "/configuration/index_codecs/1/configuration/level",
      ],
    ] as const
  ) {
    const changed = {
      ...codec,
      configuration: { ...configuration, ...changes },
    };
    const error = assertThrows(
      () => parseShardLayout(changed, [4, 4]),
      MetadataError,
    );
    assertEquals(error.path, path);
  }
});

Deno.test("assertShardIndex rejects values that are not an index of the layout", () => {
  const chunk = { offset: 0, length: 1 };
  const wrong: ShardIndex[] = [
    [],
    [chunk],
    [chunk, undefined, undefined],
    [{ offset: 50, length: -5 }, undefined],
    [{ offset: 0.5, length: 0.5 }, undefined],
  ];
  for (const index of wrong) {
    assertThrows(() => assertShardIndex(index, LAYOUT, 100), RangeError);
  }
  assertShardIndex([chunk, undefined], LAYOUT, 100);
  for (const size of [NaN, -1, 31]) {
    assertThrows(
      () => assertShardIndex([undefined, undefined], LAYOUT, size),
      DamageError,
      `${size} bytes long, where its index takes 32`,
    );
  }
});

Deno.test("readInnerChunk rejects an index of another number of entries", async () => {
  const read = () => Promise.resolve(new Uint8Array(1));
  const index = [{ offset: 0, length: 1 }];
  await assertRejects(
    () => readInnerChunk(read, LAYOUT, [1], { index }),
    RangeError,
    "Expected an index of 2 entries",
  );
});

Deno.test("readInnerChunk makes no request for an empty inner chunk", async () => {
  const read = () => Promise.reject(new Error("Asked"));
  const index = [{ offset: 0, length: 0 }, undefined];
  const chunk = await readInnerChunk(read, LAYOUT, [0], { index });
  assertEquals(chunk, new Uint8Array());
});

Deno.test("encodeShard rejects inner chunks other than Uint8Array", () => {
  for (const value of [new Uint16Array([300]), [1], "1", null]) {
    const wrong = value as unknown as Uint8Array;
    assertThrows(
      () => encodeShard([wrong, undefined], LAYOUT),
      TypeError,
      "Expected the bytes of a shard as Uint8Array",
    );
    assertThrows(
      () =>
        encodeShard([undefined, undefined], LAYOUT, {
          prefix: wrong,
        }),
      TypeError,
    );
  }
});
