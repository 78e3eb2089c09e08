/** Damaged chunks of each codec, at each entrance that decodes them. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import * as zarr from "zarrita";
import { convert, verify } from "../../jobs.ts";
import {
  arrayMetadata,
  createArrayChunks,
  DamageError,
  encodeShard,
  MemoryStore,
  parseShardLayout,
} from "../../mod.ts";
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
async function open(store: MemoryStore) {
  const root = zarr.root(await withZarrParts(store));
  return await zarr.open(root, { kind: "array" });
}

const ENTRANCES: Record<string, (store: MemoryStore) => Promise<unknown>> = {
  "zarr.get": async (store) => await zarr.get(await open(store)),
  getSharded: async (store) => await getSharded(zarr, await open(store)),
  setSharded: async (store) =>
    await setSharded(zarr, await open(store), [zarr.slice(5)], 3),
  convert: (store) =>
    convert({ store, path: "" }, { store: new MemoryStore(), path: "" }, {
      recode: { codecs: [{ name: "bytes" }] },
    }),
};

for (const [name, configuration] of Object.entries(CODECS)) {
  const inner = [{ name: "bytes" }, { name, configuration }];
  const sharding = {
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
  for (const [kind, codecs] of [["chunks", inner], ["shards", [sharding]]]) {
    Deno.test(`damaged ${kind} of ${name} are a DamageError with the key at each entrance`, async () => {
      const store = new MemoryStore();
      const metadata = arrayMetadata({
        shape: SHAPE,
        dataType: "uint8",
        chunkShape: SHAPE,
      });
      await createArrayChunks(store, "", {
        ...metadata,
        codecs: codecs as typeof inner,
      });
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
        for (const [entrance, run] of Object.entries(ENTRANCES)) {
          const error = await assertRejects(() => run(store), Error);
          // Errors of codecs pass through the pipeline of zarrita.
          const damage = error.name === "CodecPipelineError"
            ? error.cause
            : error;
          const what = `${entrance} of a chunk ${way}: ${error}`;
          assert(damage instanceof DamageError, what);
          assert(damage.key.endsWith("c/0"), what);
          assert(damage.message.includes("c/0"), what);
        }
        const { findings } = await verify(store, "", { deep: true });
        const expected = isShard ? "inner-chunk-decoding" : "chunk-decoding";
        assertEquals(findings.map(({ rule, key }) => [rule, key]), [
          [expected, "/c/0"],
        ]);
      }
    });
  }
}
