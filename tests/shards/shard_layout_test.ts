import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { parseShardLayout, shardIndexSize } from "../../mod.ts";

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
