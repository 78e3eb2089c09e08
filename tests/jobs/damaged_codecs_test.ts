/** Damaged chunks of each codec, damaged strips of adopted TIFFs, and chunks that are far too long, at each entrance that decodes them. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import * as zarr from "zarrita";
import { convert, verify } from "../../jobs.ts";
import {
  arrayMetadata,
  createArrayChunks,
  DamageError,
  encodeShard,
  encodeShardIndex,
  FileSystemStore,
  MemoryStore,
  parseShardLayout,
  readShardIndex,
  type Store,
} from "../../mod.ts";
import { adoptTiffs } from "../../tiff.ts";
import {
  getSharded,
  registerCodecs,
  setSharded,
  withZarrParts,
} from "../../zarrita.ts";

registerCodecs(zarr.registry);

const SHAPE = [4096];
const ELEMENTS = Uint8Array.from({ length: 4096 }, (_, i) => (i * i) % 251);

const CODECS: Record<string, Record<string, unknown>> = {
  gzip: { level: 5 },
  zstd: { level: 1, checksum: false },
  "numcodecs.zlib": { level: 5 },
  "numcodecs.zstd": { level: 5 },
  "numcodecs.lz4": { acceleration: 1 },
  blosc: {
    cname: "lz4",
    clevel: 5,
    shuffle: "shuffle",
    typesize: 1,
    blocksize: 0,
  },
};

const DAMAGES: Record<string, (bytes: Uint8Array) => Uint8Array> = {
  "without bytes": () => new Uint8Array(),
  "cut off": (bytes) => bytes.slice(0, bytes.length >> 1),
  "with other bytes": (bytes) => bytes.map((byte, i) => byte * 31 + i * 7 + 1),
};

/** Opens the array by the adapter for zarrita. */
async function open(store: Store) {
  const root = zarr.root(await withZarrParts(store));
  return await zarr.open(root, { kind: "array" });
}

const ENTRANCES: Record<string, (store: Store) => Promise<unknown>> = {
  "zarr.get": async (store) => await zarr.get(await open(store)),
  getSharded: async (store) => await getSharded(zarr, await open(store)),
  setSharded: async (store) =>
    await setSharded(zarr, await open(store), [zarr.slice(5)], 3),
  convert: (store) =>
    convert({ store, path: "" }, { store: new MemoryStore(), path: "" }, {
      recode: { codecs: [{ name: "bytes" }, { name: "crc32c" }] },
    }),
};

type Codecs = { name: string; configuration?: Record<string, unknown> }[];

/** Creates an array of one chunk, and returns its metadata. */
async function create(store: Store, codecs: Codecs) {
  const metadata = arrayMetadata({
    shape: SHAPE,
    dataType: "uint8",
    chunkShape: SHAPE,
  });
  await createArrayChunks(store, "", { ...metadata, codecs });
}

/** Shards of one inner chunk. */
function shards(inner: Codecs) {
  return {
    name: "sharding_indexed",
    configuration: {
      chunk_shape: SHAPE,
      codecs: inner,
      index_codecs: [
        { name: "bytes", configuration: { endian: "little" } },
        { name: "crc32c" },
      ],
    },
  };
}

/** Runs each entrance, and asserts that it refuses the chunk by a damage with the key. */
async function assertRefused(
  store: Store,
  what: string,
  except?: string,
  key = "/c/0",
  name = "c/0",
): Promise<void> {
  for (const [entrance, run] of Object.entries(ENTRANCES)) {
    if (entrance === except) continue;
    const error = await assertRejects(() => run(store), Error);
    // Errors of codecs pass through the pipeline of zarrita.
    const damage = error.name === "CodecPipelineError" ? error.cause : error;
    const text = `${entrance} of a chunk ${what}: ${error}`;
    assert(damage instanceof DamageError, text);
    assertEquals(damage.key, key, text);
    assert(damage.message.includes(name), `${text}: ${damage.message}`);
  }
}

for (const [name, configuration] of Object.entries(CODECS)) {
  const inner = [{ name: "bytes" }, { name, configuration }];
  const sharding = shards(inner);
  for (const [kind, codecs] of [["chunks", inner], ["shards", [sharding]]]) {
    Deno.test(`damaged ${kind} of ${name} are a DamageError with the key at each entrance`, async () => {
      const store = new MemoryStore();
      await create(store, codecs as Codecs);
      const block = { data: ELEMENTS, shape: SHAPE, stride: [1] };
      await setSharded(zarr, await open(store), null, block);
      const stored = (await store.get("/c/0"))!;
      const isShard = kind === "shards";
      const sound = isShard ? stored.slice(0, -20) : stored;
      for (const [way, damage] of Object.entries(DAMAGES)) {
        const damaged = damage(sound);
        const chunk = isShard
          ? encodeShard([damaged], parseShardLayout(sharding, SHAPE))
          : damaged;
        await store.set("/c/0", chunk);
        await assertRefused(store, way);
        const { findings } = await verify(store, "", { deep: true });
        const expected = isShard ? "inner-chunk-decoding" : "chunk-decoding";
        assertEquals(findings.map(({ rule, key }) => [rule, key]), [
          [expected, "/c/0"],
        ]);
      }
    });
  }
}

const tiffs: readonly { name: string; tiff: string }[] = JSON.parse(
  await Deno.readTextFile(
    new URL("../fixtures/foreign_tiffs.json", import.meta.url),
  ),
);

for (
  const name of [
    "FillOrder 2 of 16 bits, big-endian, with the compression 5",
    "FillOrder 2 of 8 bits, little-endian, with the compression 8",
    "lerc_deflate",
    "lerc_zstd",
    "LERC of int16",
    "JPEG of 20 by 19 pixels with 3 samples in a tile",
  ]
) {
  Deno.test(`a damaged strip of an adopted TIFF, ${name}, is a DamageError with the strip at each entrance`, async () => {
    const { tiff } = tiffs.find((tiff) => tiff.name === name)!;
    const bytes = Uint8Array.fromBase64(tiff);
    const rank = name.startsWith("JPEG") ? 3 : 2;
    const key = `/c/${new Array(rank).fill(0).join("/")}.tif` as const;
    const store = new MemoryStore([[key, bytes]]);
    const { chunks } = await adoptTiffs(store, "");
    const layout = parseShardLayout(
      chunks.metadata.codecs[0],
      chunks.chunkShape,
    );
    const coordinates = new Array(rank).fill(0);
    const index = (await readShardIndex(
      (range) => chunks.getRange(coordinates, range),
      layout,
    ))!;
    const { offset, length } = index[0]!;
    await store.set(key, bytes.fill(0xa5, offset, offset + length));
    const inner = `nner chunk [${coordinates.join(", ")}] of shard "${key}"`;
    await assertRefused(store, name, "setSharded", key, inner);
    const { findings } = await verify(store, "", { deep: true });
    assertEquals(
      findings.map(({ rule, key }) => [rule, key]),
      [["inner-chunk-decoding", key]],
    );
    assert(findings[0]!.message.startsWith(`Inner chunk 0 of "${key}" `));
  });
}

/** More than fits into memory. */
const FAR_TOO_LONG = 2 ** 42;

for (
  const [name, codecs] of Object.entries<Codecs>({
    "raw chunk": [{ name: "bytes" }],
    "gzip chunk": [{ name: "bytes" }, { name: "gzip", configuration: {} }],
    shard: [shards([{ name: "bytes" }])],
    "chunk of texts": [{ name: "vlen-utf8" }],
  })
) {
  Deno.test(`a file of 4 TiB in place of a ${name} is a DamageError with the key at each entrance, and is not read`, async () => {
    const folder = await Deno.makeTempDir();
    const store = new FileSystemStore(folder);
    await create(store, codecs);
    await Deno.mkdir(`${folder}/c`);
    using file = await Deno.create(`${folder}/c/0`);
    await file.truncate(FAR_TOO_LONG);
    const isShard = name === "shard";
    if (isShard) {
      const layout = parseShardLayout(codecs[0], SHAPE);
      const index = [{ offset: 0, length: FAR_TOO_LONG }];
      await file.seek(0, Deno.SeekMode.End);
      await file.write(encodeShardIndex(index, layout));
    }
    // A shard that is changed in part is in memory as a whole.
    await assertRefused(store, name, isShard ? "setSharded" : undefined);
    const { findings } = await verify(store, "", { deep: true });
    const [found] = findings.map(({ rule, key }) => `${rule} ${key}`);
    assert(found?.match(/^(chunk-size|(inner-)?chunk-decoding) .c.0$/), found);
    await Deno.remove(folder, { recursive: true });
  });
}

Deno.test("verify finds a chunk of a codec for which it is declared too long", async () => {
  const store = new MemoryStore();
  const metadata = arrayMetadata({
    shape: [10 ** 15],
    dataType: "uint8",
    chunkShape: [10 ** 15],
    codecs: ["gzip"],
  });
  await createArrayChunks(store, "", metadata);
  await store.set("/c/0", new Uint8Array(20));
  const { findings, isSound } = await verify(store, "", { deep: true });
  assertEquals(findings.map(({ rule, key }) => [rule, key]), [
    ["chunk-decoding", "/c/0"],
  ]);
  assert(!findings[0]!.message.includes("unknown"));
  assertEquals(isSound, false);
});
