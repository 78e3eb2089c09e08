import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import * as zarr from "zarrita";
import { MemoryStore, MetadataError, openArrayChunks } from "../../mod.ts";
import { registerCodecs, setSharded, withZarrParts } from "../../zarrita.ts";
import { countingBytes } from "../support/bytes.ts";
import { encodeJson, readJson, utf8 } from "../support/documents.ts";
import { shardedMetadata, shardedStore, sharding } from "./sharded_array.ts";

Deno.test("withZarrParts advises which store to construct", () => {
  for (
    const [argument, found] of [
      ["x.zarr", '"x.zarr": use new FileSystemStore("x.zarr")'],
      [
        new URL("https://example.org/x"),
        '"https://example.org/x": use new HttpStore("https://example.org/x")',
      ],
      [undefined, "undefined"],
      [MemoryStore, "the class MemoryStore: use new MemoryStore(…)"],
    ] as const
  ) {
    const error = assertThrows(
      () => withZarrParts(argument as unknown as MemoryStore),
      TypeError,
    );
    assertEquals(
      error.message,
      `Expected a store, an object with a "get" method, found ${found}`,
    );
  }
});

Deno.test("setSharded names the missing argument", async () => {
  const array = await zarr.create(new MemoryStore(), {
    shape: [4],
    chunkShape: [2],
    dtype: "uint8",
  });
  const set = setSharded as (...all: unknown[]) => Promise<void>;
  for (
    const [act, message] of [
      [
        () => set(array, null, 7),
        'Expected the module of zarrita as the first argument, found an object with the members "store", "path", "kind"',
      ],
      [
        () => set(),
        "Expected the module of zarrita as the first argument, found undefined",
      ],
      [
        () => set(zarr, null, 7),
        "Expected an array that was opened from withZarrParts(store) as the second argument, found null",
      ],
      [
        () => set(zarr, array, null, 7),
        'Expected an array that was opened from withZarrParts(store) as the second argument, found the array at "/" of MemoryStore(1)',
      ],
    ] as const
  ) {
    assertEquals((await assertRejects(act, TypeError)).message, message);
  }
});

registerCodecs(zarr.registry);

const PLAIN_KEYS = { name: "default", configuration: { separator: "/" } };
const GZIP = { name: "gzip", configuration: { level: 1 } };
const transpose = { name: "transpose", configuration: { order: [0] } };
const changedSharding = (changes: Record<string, unknown>) => [{
  name: "sharding_indexed",
  configuration: { ...sharding().configuration, ...changes },
}];

for (
  const [what, codecs] of Object.entries({
    "with a codec before the shards": [transpose, sharding()],
    "with a codec after the shards": [sharding(), GZIP],
    "with a codec beside shards in shards": [
      sharding({ inner: [4], codecs: [sharding(), "crc32c"] }),
    ],
  })
) {
  Deno.test(`withZarrParts shows an array ${what} as it is stored, and rejects access to its chunks`, async () => {
    const stored = await shardedStore();
    const document = shardedMetadata({
      codecs,
      chunk_key_encoding: PLAIN_KEYS,
    });
    await stored.set("/zarr.json", encodeJson(document));
    const store = withZarrParts(stored);
    const seen = await readJson(store, "/zarr.json");
    assertEquals(seen.chunk_grid, document.chunk_grid);
    assertEquals(seen.codecs.map(nameOf), codecs.map(nameOf));
    for (
      const read of [
        () => store.get("/c/0"),
        () => store.getRange("/c/0", { suffixLength: 4 }),
        () => store.size("/c/0"),
        () => store.set("/c/0", countingBytes(2)),
      ]
    ) {
      const error = await assertRejects(read, MetadataError, "/zarr.json");
      assert(error.path.startsWith("/codecs"), error.path);
    }
    const array = await zarr.open(store, { kind: "array" })
      .catch((error: Error) => error);
    if (!(array instanceof Error)) await assertRejects(() => zarr.get(array));
  });
}

for (
  const [what, codecs] of Object.entries({
    "with shards without a configuration": ["sharding_indexed"],
    "whose inner chunks do not fill the shard": [sharding({ inner: [3] })],
    "whose inner chunks have other dimensions": [sharding({ inner: [2, 2] })],
    "whose inner chunks have no length": [sharding({ inner: [0] })],
    "whose inner chunks have half an element": [sharding({ inner: [0.5] })],
    "without codecs of inner chunks": [sharding({ codecs: [] })],
    "with an index in the middle": changedSharding({
      index_location: "middle",
    }),
    "with a compressed index": changedSharding({
      index_codecs: ["bytes", GZIP],
    }),
    "with an index without an order of bytes": changedSharding({
      index_codecs: ["bytes"],
    }),
    "with something unknown about shards": changedSharding({ other: 1 }),
  })
) {
  Deno.test(`withZarrParts and openArrayChunks refuse an array ${what} by the same error`, async () => {
    const stored = await shardedStore();
    const document = shardedMetadata({
      codecs,
      chunk_key_encoding: PLAIN_KEYS,
    });
    await stored.set("/zarr.json", encodeJson(document));
    const { message } = await assertRejects(
      () => openArrayChunks(stored),
      MetadataError,
      "/zarr.json#/codecs/0",
    );
    const store = withZarrParts(stored);
    for (
      const read of [
        () => store.get("/zarr.json"),
        () => zarr.open(store, { kind: "array" }),
        () => zarr.open(store),
        () => store.get("/c/0"),
        () => store.getRange("/c/0", { suffixLength: 4 }),
        () => store.size("/c/0"),
        () => store.set("/c/0", countingBytes(2)),
      ]
    ) {
      await assertRejects(read, MetadataError, message);
    }
  });
}

function nameOf(codec: unknown): unknown {
  return typeof codec === "string" ? codec : (codec as { name: string }).name;
}

/** The document of an array of which a shard has so many shards within each other. */
function nestedShards(levels: number): Uint8Array {
  const { configuration } = sharding({ codecs: [] });
  const codec = JSON.stringify({ name: "sharding_indexed", configuration });
  const [before, after] = codec.split('"codecs":[]') as [string, string];
  const nested = `${before}"codecs":[`.repeat(levels) + '"bytes"' +
    `]${after}`.repeat(levels);
  const document = JSON.stringify(shardedMetadata({ codecs: ["here"] }));
  return utf8(document.replace('"here"', nested));
}

Deno.test("withZarrParts reads a hundred shards within each other, and refuses twenty thousand with a MetadataError, without effect on lists", async () => {
  const stored = await shardedStore();
  await stored.set("/b/zarr.json", await stored.get("/zarr.json") as never);
  const keys = (await Array.fromAsync(stored.list())).sort();
  await stored.set("/zarr.json", nestedShards(100));
  assertEquals(await withZarrParts(stored).get("/c/9"), undefined);
  await stored.set("/zarr.json", nestedShards(20_000));
  const store = withZarrParts(stored);
  await assertRejects(() => store.get("/c/9"), MetadataError, "/zarr.json");
  assertEquals((await Array.fromAsync(store.list())).sort(), keys);
});
