import { assertEquals, assertThrows } from "@std/assert";
import {
  MetadataError,
  parseShardLayout,
  shardIndexSize,
  type ShardLayout,
} from "../../mod.ts";

const BYTES = { name: "bytes", configuration: { endian: "little" } };

/** A codec with inner chunks of 2 × 5 elements, with changes. */
function sharding(changes: Record<string, unknown> = {}) {
  return {
    name: "sharding_indexed",
    configuration: {
      chunk_shape: [2, 5],
      codecs: [BYTES],
      index_codecs: [BYTES, { name: "crc32c" }],
      ...changes,
    },
  };
}

Deno.test("parseShardLayout reads the example of the concat-parts document, whose index takes 1604 bytes", () => {
  const layout = parseShardLayout({
    "name": "sharding_indexed",
    "configuration": {
      "chunk_shape": [500, 500],
      "index_location": "end",
      "index_codecs": [
        { "name": "bytes", "configuration": { "endian": "little" } },
        { "name": "crc32c" },
      ],
      "codecs": [
        { "name": "packbits" },
      ],
    },
  }, [5000, 5000]);
  assertEquals(layout, {
    chunksPerShard: [10, 10],
    indexLocation: "end",
    indexEndian: "little",
    indexHasChecksum: true,
  });
  assertEquals(shardIndexSize(layout), 1604);
});

const BIG = { name: "bytes", configuration: { endian: "big" } };

/** Changes of the configuration, and what they change in the layout. */
const LAYOUTS: [Record<string, unknown>, Partial<ShardLayout>][] = [
  [{}, {}],
  [{ index_location: undefined }, {}],
  [{ index_location: "end" }, {}],
  [{ index_location: "start" }, { indexLocation: "start" }],
  [{ index_codecs: [BIG, "crc32c"] }, { indexEndian: "big" }],
  [{ codecs: [BIG, "crc32c"] }, {}], // Those of the inner chunks.
  [{ index_codecs: [BYTES] }, { indexHasChecksum: false }],
  [
    { codecs: [BYTES, "crc32c"], index_codecs: [BYTES] },
    { indexHasChecksum: false },
  ],
  [{ index_codecs: [BYTES, { name: "crc32c", configuration: {} }] }, {}],
  [{ codecs: [sharding({ chunk_shape: [1, 5] })] }, {}],
];

for (const [changes, expected] of LAYOUTS) {
  Deno.test(`parseShardLayout reads ${JSON.stringify(changes)}`, () => {
    const codec = sharding(changes);
    const shape = [4, 10];
    assertEquals(parseShardLayout(codec, shape), {
      chunksPerShard: [2, 2],
      indexLocation: "end",
      indexEndian: "little",
      indexHasChecksum: true,
      ...expected,
    });
    assertEquals([codec, shape], [sharding(changes), [4, 10]]);
  });
}

/** Changes of a valid configuration that are refused, the places of the errors below `/configuration`, and their messages. */
const REFUSED: [Record<string, unknown>, string, string][] = [
  ...["chunk_shape", "codecs", "index_codecs"].map(
    (name): [Record<string, unknown>, string, string] => [
      { [name]: undefined },
      `/${name}`,
      "",
    ],
  ),
  [
    { order: "C" },
    "/order",
    'Unknown member "order" in the configuration of sharding_indexed; known are "chunk_shape", "codecs", "index_codecs" and "index_location"',
  ],
  [{ "a/b~": undefined }, "/a~1b~0", 'Unknown member "a/b~"'],
  ...[null, 2, "2,5", {}, { 0: 2, 1: 5, length: 2 }].map(
    (chunk_shape): [Record<string, unknown>, string, string] => [
      { chunk_shape },
      "/chunk_shape",
      "Expected chunk_shape to be a list of lengths, found",
    ],
  ),
  ...[0, -1, 0.5, 2.5, NaN, Infinity, 2 ** 53, "5", null, [5]].map(
    (length): [Record<string, unknown>, string, string] => [
      { chunk_shape: [2, length] },
      "/chunk_shape/1",
      "Expected a length in chunk_shape to be",
    ],
  ),
  ...[[2, 4], [3, 5], [8, 10], [4, 20], [], [2], [2, 5, 1]].map(
    (chunk_shape): [Record<string, unknown>, string, string] => [
      { chunk_shape },
      "/chunk_shape",
      `Expected a chunk_shape of which a shard of [4, 10] is a multiple in every dimension, found [${
        chunk_shape.join(", ")
      }]`,
    ],
  ),
  ...[null, 0, "bytes", BYTES].flatMap((value) =>
    ["codecs", "index_codecs"].map(
      (name): [Record<string, unknown>, string, string] => [
        { [name]: value },
        `/${name}`,
        `Expected ${name} to be a list, found`,
      ],
    )
  ),
  [{ codecs: [] }, "/codecs", "Expected at least one codec"],
  ...["middle", "End", "", null, 0, ["end"]].map(
    (index_location): [Record<string, unknown>, string, string] => [
      { index_location },
      "/index_location",
      'Expected index_location "start" or "end", found',
    ],
  ),
  [
    { index_codecs: [BYTES, { name: "crc32c", configuration: { level: 1 } }] },
    "/index_codecs/1/configuration/level",
    "Unknown member",
  ],
  ...[[], ["crc32c"], [BYTES, BYTES], [BYTES, "crc32c", "crc32c"], ["zstd"]]
    .map((index_codecs): [Record<string, unknown>, string, string] => [
      { index_codecs },
      "/index_codecs",
      "Expected index_codecs to be bytes, and maybe crc32c after it, found",
    ]),
  ...[{}, { endian: "native" }].map(
    (configuration): [Record<string, unknown>, string, string] => [
      { index_codecs: [{ name: "bytes", configuration }] },
      "/index_codecs/0/configuration/endian",
      "endian",
    ],
  ),
];

Deno.test("parseShardLayout refuses configurations that are not valid, with their places", () => {
  for (const [changes, path, message] of REFUSED) {
    const codec = sharding(changes);
    for (const [name, value] of Object.entries(changes)) {
      const isMissing = value === undefined && name in sharding().configuration;
      if (isMissing) {
        delete (codec.configuration as Record<string, unknown>)[name];
      }
    }
    const error = assertThrows(
      () => parseShardLayout(codec, [4, 10]),
      MetadataError,
      message,
    );
    assertEquals(error.path, `/configuration${path}`, JSON.stringify(changes));
  }
});

/** Codecs that are refused, and the places of the errors. */
const WRONG_CODECS: [unknown, string, string][] = [
  ...[undefined, null, 5, true, [], ["sharding_indexed"]].map(
    (codec): [unknown, string, string] => [codec, "", "Expected a codec"],
  ),
  ["", "", "found an empty string"],
  [{}, "/name", 'Missing member "name"'],
  [{ name: 7 }, "/name", "Expected a name, found 7"],
  ...["zstd", "sharding", "Sharding_Indexed", "__proto__"].flatMap(
    (name): [unknown, string, string][] => [
      [name, "", `Expected the codec "sharding_indexed", found "${name}"`],
      [{ ...sharding(), name }, "/name", `found "${name}"`],
    ],
  ),
  ["sharding_indexed", "/configuration/chunk_shape", "Missing member"],
  [
    { name: "sharding_indexed" },
    "/configuration/chunk_shape",
    "Missing member",
  ],
  ...[null, 5, "end", [1]].map((configuration): [unknown, string, string] => [
    { name: "sharding_indexed", configuration },
    "/configuration",
    "Expected a configuration object, found",
  ]),
  [{ ...sharding(), level: 1 }, "/level", 'Unknown member "level" in a codec'],
  [
    {
      ...sharding(),
      configuration: JSON.parse(
        JSON.stringify(sharding().configuration).replace(
          "{",
          '{"__proto__":1,',
        ),
      ),
    },
    "/configuration/__proto__",
    'Unknown member "__proto__"',
  ],
];

Deno.test("parseShardLayout refuses values that are not the codec, and shards without elements", () => {
  for (const [codec, path, message] of WRONG_CODECS) {
    const error = assertThrows(
      () => parseShardLayout(codec, [4, 10]),
      MetadataError,
      message,
    );
    assertEquals(error.path, path);
  }
  const huge = 2 ** 53 - 2;
  for (const shape of [[0, 10], [4, -10], [4, NaN], [huge, huge], []]) {
    const error = assertThrows(
      () => parseShardLayout(sharding(), shape),
      MetadataError,
    );
    assertEquals(error.path, "/configuration/chunk_shape");
  }
  assertThrows(() => parseShardLayout(sharding(), "4" as never), TypeError);
});
