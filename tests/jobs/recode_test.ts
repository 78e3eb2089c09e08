import { gzipSync } from "node:zlib";
import {
  ArrayChunks,
  type ArrayMetadata,
  arrayMetadata,
  crc32c,
  createArrayChunks,
  DamageError,
  encodeShard,
  FileSystemStore,
  MemoryStore,
  parseShardLayout,
  type Store,
  type StoreKey,
} from "../../mod.ts";
import { convert, type ConvertOptions, verify } from "../../jobs.ts";
import { tiffContainer } from "../../tiff.ts";
import { zipContainer } from "../../zip.ts";
import { ThreadPool } from "../../zarrita.ts";
import { encodeJson } from "../support/documents.ts";
import { countedPool } from "../threads/counted_pool.ts";
import { recodedCases } from "./recode_arbitraries.ts";
import { type PlainArray, readPlain, storePlain } from "./recode_oracle.ts";
import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertRejects,
} from "@std/assert";
import fc from "fast-check";

/** An array of 10 × 13 elements, of which some chunks have only fill values. */
function plainArray(
  options: Partial<Parameters<typeof arrayMetadata>[0]> = {},
): PlainArray {
  const metadata = arrayMetadata({
    shape: [10, 13],
    dataType: "uint16",
    chunkShape: [3, 4],
    codecs: ["zstd"],
    fillValue: 9,
    ...options,
  });
  const elements = new Uint8Array(2 * 130);
  for (let i = 0; i < 130; i++) {
    const isFilled = i < 52 && i % 13 < 8;
    elements[2 * i] = isFilled ? 9 : i % 8;
  }
  return { metadata, size: 2, unit: 2, fill: new Uint8Array([9, 0]), elements };
}

const RECODE: ConvertOptions = {
  recode: { codecs: "gzip", chunks: [2, 4], shards: [4, 8] },
  threads: 0,
};

/** All values of a store by their keys. */
async function valuesOf(store: MemoryStore): Promise<Map<string, Uint8Array>> {
  const values = new Map<string, Uint8Array>();
  for await (const key of store.list()) {
    values.set(key, (await store.get(key))!);
  }
  return new Map([...values].sort());
}

/** A store that fails to write a value after some number of others. */
class FailingStore extends MemoryStore {
  left = Infinity;

  override async set(
    ...args: Parameters<MemoryStore["set"]>
  ): ReturnType<MemoryStore["set"]> {
    if (this.left-- <= 0) throw new Error("The disk is full");
    return await super.set(...args);
  }
}

async function target(
  source: Store,
  options: ConvertOptions = RECODE,
): Promise<MemoryStore> {
  const store = new MemoryStore();
  await convert(source, store, options);
  return store;
}

Deno.test("convert with resume continues a recoding that failed at any write", async () => {
  const source = await storePlain(plainArray());
  const options = { ...RECODE, parts: ["", ".index"] };
  const expected = await valuesOf(await target(source, options));
  for (let writes = 1;; writes++) {
    const store = new FailingStore();
    store.left = writes;
    const isDone = await convert(source, store, options).then(
      () => true,
      (error) => {
        assertEquals(error.message, "The disk is full");
        return false;
      },
    );
    if (isDone) break;
    assertEquals(await store.get("/zarr.json"), undefined);
    store.left = Infinity;
    const { isFinished, total, copied, skipped, absent } = await convert(
      source,
      store,
      { ...options, resume: true },
    );
    assert(isFinished);
    assertEquals(copied + skipped + absent, total);
    assertEquals(await valuesOf(store), expected);
  }
});

Deno.test("convert with resume leaves chunks that are there", async () => {
  const source = await storePlain(plainArray());
  const store = await target(source);
  const other = new Uint8Array((await store.get("/c/2/1"))!);
  other[0]! ^= 1;
  await store.set("/c/2/1", other);
  const { skipped, copied } = await convert(source, store, {
    ...RECODE,
    resume: true,
  });
  assertEquals([copied, skipped], [0, 5]);
  assertEquals(await store.get("/c/2/1"), other);
});

Deno.test("convert with resume removes chunks of which the source has no elements any more", async () => {
  const array = plainArray();
  const source = await storePlain(array) as MemoryStore;
  const store = new FailingStore();
  store.left = 6;
  await assertRejects(() => convert(source, store, RECODE));
  for await (const key of source.list()) {
    if (key.startsWith("/c/0/")) await source.delete(key);
  }
  store.left = Infinity;
  await convert(source, store, { ...RECODE, resume: true });
  assertEquals(
    [...(await valuesOf(store)).keys()],
    [...(await valuesOf(await target(source))).keys()],
  );
});

Deno.test("convert recodes in shares, each chunk once, and a run without a share makes what is missing", async () => {
  const listing = await storePlain(plainArray());
  const get: Store["get"] = (key, options) => listing.get(key, options);
  const expected = await valuesOf(await target(listing));
  assertEquals(await valuesOf(await target({ get })), expected);
  for (const source of [listing, { get }]) {
    for (const [count, memory] of [[1, 1], [2, undefined], [5, 1]]) {
      const store = new MemoryStore();
      const options = { ...RECODE, memory };
      let [made, totals] = [0, 0];
      for (let index = 0; index < count!; index++) {
        const share = { index, count: count! };
        const run = () => convert(source, store, { ...options, share });
        const { copied, absent, total, isFinished } = await run();
        assertEquals([isFinished, total], [false, copied + absent]);
        const again = await run();
        assertEquals([again.copied, again.skipped], [0, copied]);
        made += copied;
        totals += total;
      }
      assertEquals([made, totals], [expected.size - 1, 6]);
      await store.delete("/c/2/1");
      const { isFinished, copied, skipped, absent } = await convert(
        source,
        store,
        { ...options, resume: true },
      );
      assertEquals([isFinished, copied, skipped, absent], [true, 1, 4, 1]);
      assertEquals(await valuesOf(store), expected);
    }
  }
});

Deno.test("convert recodes the stored chunks of a grid of more than 2^53 chunks", async () => {
  const length = 2 ** 53 - 1;
  const metadata = arrayMetadata({
    shape: [length, length],
    dataType: "uint8",
    chunkShape: [1, 1],
  });
  const source = new MemoryStore();
  const chunks = await createArrayChunks(source, "", metadata);
  await chunks.set([5, 7], Uint8Array.of(3));
  const store = await target(source, {
    recode: { chunks: [2, 2], codecs: "none" },
    memory: 100,
    threads: 0,
  });
  const { size } = await valuesOf(store);
  assertEquals(size, 2);
  assertEquals(await store.get("/c/2/3"), Uint8Array.of(0, 0, 0, 3));
});

Deno.test("convert decodes each chunk as often as dryRun says", async () => {
  await fc.assert(fc.asyncProperty(
    recodedCases,
    fc.constantFrom(1, 200, 2000, undefined),
    async ({ array, recode }, memory) => {
      const source = await storePlain(array, { leavesOut: false });
      let reads = 0;
      let chunks = 0;
      for await (const key of source.list!("/")) {
        if (key.startsWith("/c")) chunks++;
      }
      const counted: Store = {
        list: (prefix, options) => source.list!(prefix, options),
        get(key, options) {
          if (key.startsWith("/c")) reads++;
          return source.get(key, options);
        },
      };
      const target = new MemoryStore();
      const options = { recode, memory, threads: 0 };
      const { arrays: [dry], total } = await convert(source, target, {
        ...options,
        dryRun: true,
      });
      assertEquals((await valuesOf(target)).size, 0);
      const { arrays: [converted] } = await convert(counted, target, options);
      assertEquals(converted!.recoded, dry!.recoded);
      const { decodes, chunks: made } = converted!.recoded ?? {};
      if (made !== undefined) assertEquals(made, total);
      const [codec] = array.metadata.codecs as { name: string }[];
      const isCounted = decodes !== undefined && decodes > 0 &&
        codec!.name !== "sharding_indexed";
      if (isCounted) {
        assertEquals(Math.round(decodes * chunks * 1e6), reads * 1e6);
      }
    },
  ));
});

/** Ways to damage a value. */
const DAMAGES: Record<string, (bytes: Uint8Array) => Uint8Array> = {
  "cut short": (bytes) => bytes.slice(0, -1),
  longer: (bytes) => new Uint8Array([...bytes, 0]),
  empty: () => new Uint8Array(),
  "with other bits": (bytes) => bytes.map((byte) => byte ^ 0x55),
};

for (const [name, damage] of Object.entries(DAMAGES)) {
  for (const shardShape of [undefined, [6, 8]]) {
    for (const codecs of ["zstd:5", "none"]) {
      const what = shardShape ? "shards" : "chunks";
      Deno.test(`convert refuses ${what} ${name} that it recodes to ${codecs}`, async () => {
        const array = plainArray({ ...shardShape && { shardShape } });
        for (
          const recode of [{ codecs }, {
            codecs,
            chunks: [5, 13],
            shards: null,
          }]
        ) {
          const source = await storePlain(array) as MemoryStore;
          const key: StoreKey = "/c/1/1";
          await source.set(key, damage((await source.get(key))!));
          const store = new MemoryStore();
          const error = await assertRejects(() =>
            convert(source, store, { recode, threads: 0 })
          );
          assertInstanceOf(error, DamageError, String(error));
          assertEquals(error.key, key);
          assert(error.message.includes(key), error.message);
          assertEquals(await store.get("/zarr.json"), undefined);
        }
      });
    }
  }
}

Deno.test("convert puts containers around the shards that it makes", async () => {
  const elements = new Uint8Array(64 * 64).map((_, i) => i % 251);
  const metadata = arrayMetadata({
    shape: [64, 64],
    dataType: "uint8",
    chunkShape: [20, 64],
    codecs: ["gzip"],
  });
  const fill = new Uint8Array(1);
  const array = { metadata, size: 1, unit: 1, fill, elements };
  const source = await storePlain(array);
  const cases = [
    [(each: ArrayMetadata) => tiffContainer(each), "II*"],
    [(each: ArrayMetadata) => zipContainer(each), "PK"],
  ] as const;
  for (const [container, magic] of cases) {
    const recode = { codecs: "none", chunks: [16, 16], shards: [32, 64] };
    const store = new MemoryStore();
    const { arrays } = await convert(source, store, {
      recode,
      container,
      parts: ["", ".index"],
    });
    const read = await readPlain(store, arrays[0]!.metadata, array);
    assertEquals(read.elements, elements);
    const head = (await store.get("/c/0/0"))!.subarray(0, magic.length);
    assertEquals(new TextDecoder().decode(head), magic);
    assert((await verify(store, "", { deep: true })).isSound);
  }
});

Deno.test("convert keeps head parts of shards, which are zeros", async () => {
  for (const memory of [1, undefined]) {
    const array = plainArray();
    const store = await target(await storePlain(array), {
      ...RECODE,
      parts: [".header:64", "", ".index"],
      memory,
    });
    assertEquals(await store.get("/c/2/1.header"), new Uint8Array(64));
    const { arrays } = await convert(store, new MemoryStore(), {
      dryRun: true,
    });
    const read = await readPlain(store, arrays[0]!.metadata, array);
    assertEquals(read.elements, array.elements);
  }
});

Deno.test("convert recodes texts of any length, if their chunks keep their shape", async () => {
  const source = new MemoryStore();
  const text = new TextEncoder().encode("\x02\0\0\0\x01\0\0\0a\x02\0\0\0bc");
  const plain = arrayMetadata({
    shape: [4],
    dataType: "string",
    chunkShape: [2],
  });
  await source.set(
    "/zarr.json",
    encodeJson(plain),
  );
  await source.set("/c/1", text);
  const zipped = await target(source, {
    recode: { codecs: "gzip", shards: [4] },
  });
  const back = await target(zipped, {
    recode: { codecs: "none", shards: null },
  });
  assertEquals(await back.get("/c/1"), text);
  const error = await assertRejects(
    () => target(source, { recode: { chunks: [4] } }),
    RangeError,
  );
  assert(error.message.includes(`data type "string"`), error.message);
});

Deno.test("convert refuses codecs that are unknown or only decode", async () => {
  const source = await storePlain(
    plainArray({ dataType: "uint8", fillValue: 0 }),
  );
  const cases: [ConvertOptions["recode"], string][] = [
    [{ codecs: [{ name: "wavelet" }] }, 'Unknown codec "wavelet"'],
    [
      { codecs: [{ name: "imagecodecs_jpeg", configuration: {} }] },
      "Cannot encode by the codecs",
    ],
  ];
  for (const [recode, message] of cases) {
    const error = await assertRejects(
      () => target(source, { recode, threads: 0 }),
      TypeError,
    );
    assert(error.message.includes(message), error.message);
  }
});

Deno.test("convert keeps arrays for which the function recode returns undefined", async () => {
  const source = await storePlain(plainArray());
  const { arrays } = await convert(source, new MemoryStore(), {
    recode: () => undefined,
  });
  assertEquals(arrays[0]!.recoded, undefined);
});

Deno.test("threads that fail on damaged chunks leave the error to the calling thread", async () => {
  using threads = new ThreadPool({ threads: 2 });
  const array = plainArray();
  for (const recode of [{ codecs: "gzip" }, RECODE.recode]) {
    const source = await storePlain(array) as MemoryStore;
    await source.set("/c/1/3", (await source.get("/c/1/3"))!.slice(0, -2));
    const error = await assertRejects(
      () => target(source, { recode, threads }),
      DamageError,
    );
    assertEquals(error.key, "/c/1/3");
  }
});

Deno.test("convert gives chunks to the threads of a pool, unless their codecs are cheap", async () => {
  const metadata = arrayMetadata({
    shape: [4, 2 ** 16],
    dataType: "uint8",
    chunkShape: [1, 2 ** 16],
  });
  const elements = new Uint8Array(4 * 2 ** 16).map((_, i) => i % 251);
  const fill = new Uint8Array(1);
  const raw = await storePlain({ metadata, size: 1, unit: 1, fill, elements });
  const { threads, counts } = countedPool({ threads: 2 });
  using _ = threads;
  const chunks = [2, 2 ** 16];
  await target(raw, { recode: { chunks, codecs: "none" }, threads });
  assertEquals(counts.jobs, 0);
  await target(raw, { recode: { chunks, codecs: "gzip" }, threads });
  assert(counts.jobs > 0);
});

/** Stores an array again: transposed, in shards, with further codecs around the shards. */
async function storeAround(
  { metadata, ...array }: PlainArray,
  after: readonly { name: string; configuration?: object }[],
): Promise<MemoryStore> {
  const turned = arrayMetadata({
    shape: metadata.shape.toReversed(),
    dataType: "uint16",
    chunkShape: [4, 3],
    shardShape: [8, 6],
    codecs: ["gzip"],
    fillValue: 9,
  });
  const [rows, columns] = metadata.shape as [number, number];
  const elements = new Uint8Array(array.elements.length);
  for (let i = 0; i < rows * columns; i++) {
    const place = 2 * ((i % columns) * rows + Math.floor(i / columns));
    elements.set(array.elements.subarray(2 * i, 2 * i + 2), place);
  }
  const plain = await storePlain({ ...array, metadata: turned, elements });
  const from = new ArrayChunks(plain, "", turned);
  const store = new MemoryStore();
  const to = new ArrayChunks(store, "", {
    ...metadata,
    chunk_grid: { name: "regular", configuration: { chunk_shape: [6, 8] } },
    codecs: [
      { name: "transpose", configuration: { order: [1, 0] } },
      ...turned.codecs,
      ...after,
    ],
  } as ArrayMetadata);
  await store.set("/zarr.json", encodeJson(to.metadata));
  for (let i = 0; i < 4; i++) {
    const [row, column] = [i >> 1, i % 2];
    let bytes = await from.get([column, row]);
    if (bytes === undefined) continue;
    for (const { name } of after) {
      bytes = name === "gzip"
        ? new Uint8Array(gzipSync(bytes))
        : withChecksum(bytes);
    }
    await to.set([row, column], bytes);
  }
  return store;
}

function withChecksum(bytes: Uint8Array): Uint8Array {
  const longer = new Uint8Array(bytes.length + 4);
  longer.set(bytes);
  new DataView(longer.buffer).setUint32(bytes.length, crc32c(bytes), true);
  return longer;
}

Deno.test("convert recodes shards with further codecs before and after them", async () => {
  const array = plainArray();
  const gzip = { name: "gzip", configuration: { level: 1 } };
  for (
    const after of [[], [gzip], [{ name: "crc32c" }], [gzip, {
      name: "crc32c",
    }]]
  ) {
    const source = await storeAround(array, after);
    for (const memory of [1, undefined]) {
      for (
        const recode of [
          { codecs: "gzip" },
          { codecs: "gzip", chunks: [6, 8], shards: null },
          { codecs: "none", chunks: [5, 2], shards: [10, 4] },
          { shards: [9, 16] },
          { shards: null },
        ]
      ) {
        const store = new MemoryStore();
        const options = { recode, memory, threads: 0 };
        const { arrays } = await convert(source, store, options);
        const { metadata, recoded } = arrays[0]!;
        // What is not named stays as it is, also the order of elements.
        assertEquals(
          JSON.stringify(metadata.codecs).includes("transpose"),
          !("codecs" in recode),
        );
        const { elements } = await readPlain(store, metadata, array);
        assertEquals(elements, array.elements);
        assert(recoded !== undefined && recoded.decodes >= 1);
      }
    }
  }
});

Deno.test("convert names the shard and the reason if a shard with further codecs around it is damaged", async () => {
  const damages: [damage: (shard: Uint8Array) => Uint8Array, reason: string][] =
    [
      [(shard) => shard.slice(0, -1), "CRC32C"],
      [(shard) => withChecksum(shard.slice(0, 20)), "is 20 bytes long"],
      [
        (shard) => {
          const length = shard.length - 4;
          const changed = shard.slice(0, length);
          // A first inner chunk beyond the end, in an index without its checksum.
          new DataView(changed.buffer).setUint32(length - 68, 2 ** 30, true);
          const index = changed.subarray(length - 68, length - 4);
          new DataView(changed.buffer).setUint32(
            length - 4,
            crc32c(index),
            true,
          );
          return withChecksum(changed);
        },
        "where the shard has inner chunks",
      ],
      [
        (shard) => {
          const changed = shard.slice(0, -4);
          changed.fill(0, 0, 10); // The header of gzip.
          return withChecksum(changed);
        },
        "inner chunk [0, 0]",
      ],
    ];
  for (const [damage, reason] of damages) {
    const source = await storeAround(plainArray(), [{ name: "crc32c" }]);
    const shard = new Uint8Array((await source.get("/c/1/1"))!);
    await source.set("/c/1/1", damage(shard));
    const store = new MemoryStore();
    const error = await assertRejects(() => convert(source, store, RECODE));
    assertInstanceOf(error, DamageError);
    assertEquals(error.key, "/c/1/1");
    assert(error.message.includes(reason), error.message);
    assert(error.message.includes("/c/1/1"), error.message);
    assertEquals(await store.get("/zarr.json"), undefined);
  }
});

Deno.test("convert flattens shards in shards when it recodes them", async () => {
  const array = plainArray({ shardShape: [6, 8], codecs: [] });
  const [outer] = array.metadata.codecs as unknown as [
    { name: string; configuration: Record<string, unknown> },
  ];
  const nested = {
    ...array.metadata,
    codecs: [{
      ...outer,
      configuration: {
        ...outer.configuration,
        codecs: [{
          ...outer,
          configuration: { ...outer.configuration, chunk_shape: [1, 2] },
        }],
      },
    }],
  };
  const source = await storePlain(array) as MemoryStore;
  const inner = encodeShard(
    Array.from({ length: 6 }, (_, i) => new Uint8Array([i, 0, i, 1])),
    parseShardLayout(nested.codecs[0]!.configuration.codecs[0], [3, 4]),
  );
  const shard = encodeShard(
    [undefined, inner, undefined, inner],
    parseShardLayout(nested.codecs[0], [6, 8]),
  );
  for await (const key of source.list()) await source.delete(key);
  const document = encodeJson(nested);
  await source.set("/zarr.json", document);
  await source.set("/c/0/0", shard);
  const store = new MemoryStore();
  const { arrays } = await convert(source, store, {
    recode: { codecs: "none", chunks: [1, 2], shards: null },
  });
  const read = await readPlain(store, arrays[0]!.metadata, array);
  assertEquals(
    [...read.elements.subarray(2 * 4, 2 * 8)],
    [0, 0, 0, 1, 1, 0, 1, 1],
  );
});

Deno.test("convert decodes and encodes chunks at the same time by codecs that use memory again", async () => {
  const metadata = arrayMetadata({
    shape: [40, 40],
    dataType: "uint16",
    chunkShape: [8, 8],
    shardShape: [16, 16],
    codecs: ["gzip"],
  });
  const elements = new Uint8Array(2 * 1600)
    .map((_, i) => i % 2 ? 0 : (i * 7919) % 91);
  const array = {
    metadata,
    size: 2,
    unit: 2,
    fill: new Uint8Array(2),
    elements,
  };
  const names = ["zstd", "lz4", "blosc", "blosc:lz4"];
  for (const first of names) {
    const source = await target(await storePlain(array), {
      recode: { codecs: first },
      threads: 0,
    });
    // Two conversions at once, each of which decodes and encodes.
    const results = names.map(async (codecs) => {
      const store = await target(source, { recode: { codecs }, threads: 0 });
      const plain = new MemoryStore();
      const recode = { codecs: "gzip" };
      const { arrays } = await convert(store, plain, { recode, threads: 0 });
      const read = await readPlain(plain, arrays[0]!.metadata, array);
      assertEquals(read.elements, elements, `from ${first} to ${codecs}`);
    });
    await Promise.all(results);
  }
});

Deno.test("convert leaves nothing of a shard that is stored while it is made, if it fails or is aborted", async () => {
  for (const way of ["damage", "abort", "full disk"] as const) {
    const folder = await Deno.makeTempDir();
    try {
      const source = await storePlain(plainArray()) as MemoryStore;
      const last = (await source.get("/c/3/3"))!;
      if (way === "damage") await source.set("/c/3/3", last.slice(0, -3));
      const aborting = new AbortController();
      let reads = 0;
      const counted: Store = {
        list: (prefix, options) => source.list(prefix, options),
        get(key, options) {
          if (way === "abort" && ++reads === 12) {
            aborting.abort(new Error("Enough"));
          }
          return source.get(key, options);
        },
      };
      const files = new FileSystemStore(folder);
      const target: Store = way === "full disk"
        ? {
          get: (key, options) => files.get(key, options),
          delete: (key, options) => files.delete(key, options),
          list: (prefix, options) => files.list(prefix, options),
          set(key, value, options) {
            if (!key.startsWith("/c")) return files.set(key, value, options);
            (value as ReadableStream).cancel?.();
            return Promise.reject(new Error("The disk is full"));
          },
        }
        : files;
      const recode = { chunks: [1, 1], shards: [10, 13] };
      const error = await assertRejects(
        () =>
          convert(counted, target, {
            recode,
            memory: 1,
            threads: 0,
            signal: aborting.signal,
          }),
        Error,
      );
      const message = {
        damage: "/c/3/3",
        abort: "Enough",
        "full disk": "The disk is full",
      }[way];
      assert(error.message.includes(message), `${way}: ${error.message}`);
      const found: string[] = [];
      for await (const key of files.list()) found.push(key);
      assertEquals(found, ["/.zarr-parts-unfinished.json"]);
      const left = Array.from(Deno.readDirSync(folder), ({ name }) => name);
      assertEquals(
        left.filter((name) =>
          !["c", ".zarr-parts-unfinished.json"].includes(name)
        ),
        [],
      );
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  }
});

Deno.test("convert hears its signal while it passes over absent chunks", async () => {
  const source = new MemoryStore();
  const metadata = arrayMetadata({
    shape: [1024, 1024],
    dataType: "uint8",
    chunkShape: [1, 1],
  });
  const chunks = await createArrayChunks(source, "", metadata);
  await chunks.set([1023, 1023], new Uint8Array([7]));
  const aborting = new AbortController();
  let reads = 0;
  const counted: Store = {
    async *list(prefix, options) {
      yield* source.list(prefix, options);
      setTimeout(() => aborting.abort(new Error("Enough")));
    },
    get(key, options) {
      if (key.startsWith("/c")) reads++;
      return source.get(key, options);
    },
  };
  await assertRejects(
    () =>
      convert(counted, new MemoryStore(), {
        recode: { chunks: [1024, 1024] },
        threads: 0,
        signal: aborting.signal,
      }),
    Error,
    "Enough",
  );
  assertEquals(reads, 0); // The only chunk is the last one of more than a million.
});
