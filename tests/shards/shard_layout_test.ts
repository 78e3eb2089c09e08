import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { MetadataError, parseShardLayout, shardIndexSize } from "../../mod.ts";

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

Deno.test("parseShardLayout reads the metadata that zarr-python wrote for the elevation model", async () => {
  const url = new URL("../fixtures/dem.zarr/zarr.json", import.meta.url);
  const { chunk_grid, codecs } = JSON.parse(await Deno.readTextFile(url));
  const layout = parseShardLayout(
    codecs[0],
    chunk_grid.configuration.chunk_shape,
  );
  assertEquals(layout, {
    chunksPerShard: [4, 3],
    indexLocation: "end",
    indexEndian: "little",
    indexHasChecksum: true,
  });
  assertEquals(shardIndexSize(layout), 196);
});

Deno.test("parseShardLayout defaults to an index at the end", () => {
  const location = (changes: Record<string, unknown>) =>
    parseShardLayout(sharding(changes), [4, 5]).indexLocation;
  assertEquals(location({}), "end");
  assertEquals(location({ index_location: undefined }), "end");
  assertEquals(location({ index_location: "end" }), "end");
  assertEquals(location({ index_location: "start" }), "start");
});

Deno.test("parseShardLayout reads the byte order of the index, not that of inner chunks", () => {
  const bytes = (endian: string) => ({
    name: "bytes",
    configuration: { endian },
  });
  for (const endian of ["little", "big"] as const) {
    const other = endian === "little" ? "big" : "little";
    const layout = parseShardLayout(
      sharding({ codecs: [bytes(other)], index_codecs: [bytes(endian)] }),
      [2, 5],
    );
    assertEquals(layout.indexEndian, endian);
  }
});

Deno.test("parseShardLayout detects the checksum of the index, in each form of crc32c", () => {
  const hasChecksum = (...more: unknown[]) =>
    parseShardLayout(sharding({ index_codecs: [BYTES, ...more] }), [2, 5])
      .indexHasChecksum;
  assertEquals(hasChecksum(), false);
  assertEquals(hasChecksum({ name: "crc32c" }), true);
  assertEquals(hasChecksum({ name: "crc32c", configuration: {} }), true);
  assertEquals(hasChecksum("crc32c"), true);
});

Deno.test("parseShardLayout does not treat a checksum of inner chunks as one of the index", () => {
  const codec = sharding({ codecs: [BYTES, "crc32c"], index_codecs: [BYTES] });
  assertEquals(parseShardLayout(codec, [2, 5]).indexHasChecksum, false);
});

Deno.test("parseShardLayout reads shards without dimensions", () => {
  const layout = parseShardLayout(sharding({ chunk_shape: [] }), []);
  assertEquals(layout.chunksPerShard, []);
  assertEquals(shardIndexSize(layout), 20);
});

Deno.test("parseShardLayout reads nested shards from the codecs of outer ones", () => {
  const inner = sharding({ chunk_shape: [2, 1], index_codecs: [BYTES] });
  const outer = sharding({ chunk_shape: [4, 5], codecs: [inner] });
  assertEquals(
    parseShardLayout(outer, [8, 30]).chunksPerShard,
    [2, 6],
  );
  assertEquals(
    parseShardLayout(outer.configuration.codecs[0], [4, 5]),
    {
      chunksPerShard: [2, 5],
      indexLocation: "end",
      indexEndian: "little",
      indexHasChecksum: false,
    },
  );
});

Deno.test("parseShardLayout does not change the metadata and the shape", () => {
  const codec = sharding();
  const shape = [4, 5];
  parseShardLayout(codec, shape);
  assertEquals(codec, sharding());
  assertEquals(shape, [4, 5]);
});

Deno.test("parseShardLayout and shardIndexSize count inner chunks as multiplication does", () => {
  const length = fc.integer({ min: 1, max: 100 });
  fc.assert(
    fc.property(
      fc.array(fc.tuple(length, length), { maxLength: 5 }),
      fc.boolean(),
      (dimensions, hasChecksum) => {
        const layout = parseShardLayout(
          sharding({
            chunk_shape: dimensions.map(([length]) => length),
            index_codecs: hasChecksum ? [BYTES, "crc32c"] : [BYTES],
          }),
          dimensions.map(([length, count]) => length * count),
        );
        const counts = dimensions.map(([, count]) => count);
        assertEquals(layout.chunksPerShard, counts);
        const chunks = counts.reduce((all, n) => all * BigInt(n), 1n);
        assertEquals(
          BigInt(shardIndexSize(layout)),
          16n * chunks + (hasChecksum ? 4n : 0n),
        );
      },
    ),
  );
});

const CRC32C = { name: "crc32c" };
const VALID = {
  chunk_shape: [2, 5],
  codecs: [BYTES],
  index_codecs: [BYTES, CRC32C],
  index_location: "end",
};

function assertCodecRefused(
  codec: unknown,
  message: string,
  path: string,
  shardShape: readonly number[] = [4, 10],
): void {
  const error = assertThrows(
    () => parseShardLayout(codec, shardShape),
    MetadataError,
    message,
  );
  assertEquals(error.path, path);
}

/** Refuses a valid configuration with changes; `path` is below `/configuration`. */
function assertRefused(
  changes: Record<string, unknown>,
  message: string,
  path: string,
  shardShape?: readonly number[],
): void {
  const configuration = { ...VALID, ...changes };
  assertCodecRefused(
    { name: "sharding_indexed", configuration },
    message,
    `/configuration${path}`,
    shardShape,
  );
}

Deno.test("parseShardLayout accepts the valid metadata that the other tests change", () => {
  parseShardLayout({ name: "sharding_indexed", configuration: VALID }, [4, 10]);
});

Deno.test("parseShardLayout rejects values that are not codecs", () => {
  for (const codec of [undefined, null, 5, true, [], ["sharding_indexed"]]) {
    assertCodecRefused(codec, "Expected a codec, a name or an object", "");
  }
  assertCodecRefused("", "found an empty string", "");
  assertCodecRefused({}, 'Missing member "name"', "/name");
  assertCodecRefused({ name: 7 }, "Expected a name, found 7", "/name");
});

Deno.test("parseShardLayout rejects other codecs, in long form and as names alone", () => {
  const expected = 'Expected the codec "sharding_indexed", found';
  for (const name of ["zstd", "sharding", "Sharding_Indexed", "__proto__"]) {
    const found = `${expected} "${name}"`;
    assertCodecRefused({ name, configuration: VALID }, found, "/name");
    assertCodecRefused(name, found, "");
  }
});

Deno.test("parseShardLayout rejects the name alone, which lacks a configuration", () => {
  const path = "/configuration/chunk_shape";
  const message = 'Missing member "chunk_shape"';
  assertCodecRefused("sharding_indexed", message, path);
  assertCodecRefused({ name: "sharding_indexed" }, message, path);
});

Deno.test("parseShardLayout rejects configurations that are not objects", () => {
  for (const configuration of [null, 5, "end", [VALID]]) {
    assertCodecRefused(
      { name: "sharding_indexed", configuration },
      "Expected a configuration object, found",
      "/configuration",
    );
  }
});

Deno.test("parseShardLayout names a missing member", () => {
  for (const name of ["chunk_shape", "codecs", "index_codecs"]) {
    const { [name]: _, ...configuration } = VALID as Record<string, unknown>;
    assertCodecRefused(
      { name: "sharding_indexed", configuration },
      `Missing member "${name}" in the configuration of sharding_indexed`,
      `/configuration/${name}`,
    );
  }
});

Deno.test("parseShardLayout rejects unknown members", () => {
  const message =
    'in the configuration of sharding_indexed; known are "chunk_shape", "codecs", "index_codecs" and "index_location"';
  assertRefused({ order: "C" }, `Unknown member "order" ${message}`, "/order");
  assertRefused({ "a/b~": undefined }, 'Unknown member "a/b~"', "/a~1b~0");
  for (const name of ["__proto__", "constructor"]) {
    const configuration = JSON.parse(
      `{"${name}": 1, ${JSON.stringify(VALID).slice(1)}`,
    );
    assertCodecRefused(
      { name: "sharding_indexed", configuration },
      `Unknown member "${name}"`,
      `/configuration/${name}`,
    );
  }
  assertCodecRefused(
    { name: "sharding_indexed", configuration: VALID, level: 1 },
    'Unknown member "level" in a codec',
    "/level",
  );
});

Deno.test("parseShardLayout rejects chunk shapes other than lists of whole numbers from 1", () => {
  for (const chunk_shape of [null, 2, "2,5", {}, { 0: 2, 1: 5, length: 2 }]) {
    assertRefused(
      { chunk_shape },
      "Expected chunk_shape to be a list of lengths, found",
      "/chunk_shape",
    );
  }
  const lengths = [0, -1, -5, 0.5, 2.5, NaN, Infinity, 2 ** 53, "5", null, [5]];
  for (const length of lengths) {
    assertRefused(
      { chunk_shape: [2, length] },
      "Expected a length in chunk_shape to be",
      "/chunk_shape/1",
    );
  }
});

Deno.test("parseShardLayout rejects inner chunks that do not fill the shard, by one element", () => {
  const wrong: [chunk: number[], shard: number[]][] = [
    [[2, 5], [4, 9]],
    [[2, 5], [4, 11]],
    [[2, 5], [3, 10]],
    [[2, 5], [2, 4]], // Larger than the shard.
    [[4, 10], [2, 5]],
    [[2 ** 53 - 1], [2 ** 53 - 2]],
  ];
  for (const [chunk_shape, shardShape] of wrong) {
    assertRefused(
      { chunk_shape },
      `Expected a chunk_shape of which a shard of [${
        shardShape.join(", ")
      }] is a multiple in every dimension, found [${chunk_shape.join(", ")}]`,
      "/chunk_shape",
      shardShape,
    );
  }
});

Deno.test("parseShardLayout rejects inner chunks with a rank other than that of the shard", () => {
  const wrong = [
    [[], [4, 10]],
    [[2], [4, 10]],
    [[2, 5, 1], [4, 10]],
    [[1], []],
  ] as const;
  for (const [chunk_shape, shardShape] of wrong) {
    assertRefused({ chunk_shape }, "found", "/chunk_shape", shardShape);
  }
});

Deno.test("parseShardLayout rejects codecs and index_codecs that are not lists", () => {
  for (const value of [null, 0, "bytes", BYTES]) {
    for (const name of ["codecs", "index_codecs"]) {
      const message = `Expected ${name} to be a list, found`;
      assertRefused({ [name]: value }, message, `/${name}`);
    }
  }
});

Deno.test("parseShardLayout rejects index locations other than start and end", () => {
  const message = 'Expected index_location "start" or "end", found';
  for (const index_location of ["middle", "End", "", null, 0, ["end"]]) {
    assertRefused({ index_location }, message, "/index_location");
  }
});
