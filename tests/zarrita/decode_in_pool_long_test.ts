import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import * as zarr from "zarrita";
import {
  arrayMetadata,
  createArrayChunks,
  MemoryStore,
  type Store,
} from "../../mod.ts";
import {
  getSharded,
  setSharded,
  type ThreadPool,
  withZarrParts,
} from "../../zarrita.ts";
import { countedPool } from "../threads/counted_pool.ts";
import {
  assertSameRead,
  openArray,
  storeArray,
  type Stored,
} from "./threaded_array.ts";

const BYTES = { name: "bytes", configuration: { endian: "little" } };
const ZSTD = {
  name: "zstd",
  configuration: { level: 1, checksum: false },
};

/** An array of four chunks of 32 KiB, two of them past the end of the array. */
const IMAGE: Stored = {
  shape: [200, 256],
  dataType: "uint16",
  chunkShapes: [[128, 128]],
  codecs: [BYTES, ZSTD],
};

/** Arrays whose chunks the threads of a pool decode. */
const DECODED: Readonly<Record<string, Stored>> = {
  "zstd": IMAGE,
  "gzip, big endian, and a checksum": {
    ...IMAGE,
    dataType: "int32",
    codecs: [
      { name: "bytes", configuration: { endian: "big" } },
      { name: "gzip", configuration: { level: 1 } },
      { name: "crc32c" },
    ],
  },
  "uncompressed big endian": {
    ...IMAGE,
    codecs: [{ name: "bytes", configuration: { endian: "big" } }],
  },
  "transpose": {
    ...IMAGE,
    shape: [200, 4, 256],
    dataType: "float64",
    chunkShapes: [[64, 4, 32]],
    codecs: [
      { name: "transpose", configuration: { order: [2, 0, 1] } },
      BYTES,
      ZSTD,
    ],
  },
  "bool": {
    ...IMAGE,
    dataType: "bool",
    chunkShapes: [[128, 256]],
    fill: "true",
    codecs: [{ name: "packbits", configuration: {} }],
  },
  "int64 in nested shards, with the index at the start": {
    ...IMAGE,
    dataType: "int64",
    chunkShapes: [[256, 256], [128, 128], [64, 64]],
    locations: ["start", "end"],
  },
  "a codec of TIFF in shards": {
    ...IMAGE,
    chunkShapes: [[256, 128], [128, 128]],
    codecs: [
      { name: "imagecodecs_delta", configuration: {} },
      BYTES,
      { name: "imagecodecs_zlib", configuration: {} },
    ],
  },
};

const inPool = (threads: ThreadPool) => (store: Store) =>
  withZarrParts(store, { threads });

for (const [name, stored] of Object.entries(DECODED)) {
  Deno.test(`withZarrParts with a pool: zarr.get decodes as without, ${name}`, async () => {
    const isAbsent = (coordinates: readonly number[]) =>
      coordinates.every((n) => n === 0);
    const store = await storeArray(stored, { isAbsent });
    const plain = await openArray(store);
    const { threads, counts } = countedPool({ threads: 2 });
    using _ = threads;
    const array = await openArray(store, "", inPool(threads));
    const row = stored.shape.map((n) => zarr.slice(1, n, 3));
    for (
      const selection of [null, row, stored.shape.map((n) => n - 1)] as const
    ) {
      assertSameRead(
        await zarr.get(array, selection as never),
        await zarr.get(plain, selection as never),
      );
    }
    const last = array.shape.map((n, i) => Math.ceil(n / array.chunks[i]!) - 1);
    const [a, b] = [await array.getChunk(last), await plain.getChunk(last)];
    assertSameRead(a, b);
    // Nothing gives the class of booleans but zarrita itself.
    assertEquals(counts.done > 0, stored.dataType !== "bool");
    assertEquals(counts.failures, []);
  });
}

Deno.test("withZarrParts with a pool: stores keep their bytes, and reads share no elements", async () => {
  const stored = await storeArray(IMAGE);
  const map = new Map<string, Uint8Array>();
  for await (const key of stored.list()) {
    map.set(key, (await stored.get(key))!);
  }
  const lengths = () => Array.from(map, ([key, { length }]) => [key, length]);
  const before = lengths();
  const { threads, counts } = countedPool({ threads: 2 });
  using _ = threads;
  const array = await openArray(map, "", inPool(threads));
  const [a, b] = await Promise.all([0, 1].map(() => array.getChunk([0, 0])));
  assert(a!.data !== b!.data);
  const expected = { ...a!, data: (a!.data as Uint16Array).slice() };
  (a!.data as Uint16Array).fill(0);
  assertSameRead(b, expected);
  assertSameRead(await array.getChunk([0, 0]), expected);
  assertEquals(counts.done, 3);
  assertEquals(lengths(), before);
});

Deno.test("withZarrParts with a pool: chunks are read once, however many, and a layer above keeps its bytes", async () => {
  const [chunk, count] = [2 ** 20, 20]; // More than zarr.get may have in a pool at a time.
  const stored = new MemoryStore();
  const metadata = arrayMetadata({
    shape: [count * chunk],
    dataType: "uint8",
    chunkShape: [chunk],
    codecs: ["gzip"],
    fillValue: 1,
  });
  await createArrayChunks(stored, "", metadata);
  await setSharded(zarr, await openArray(stored), null, 7 as never);
  const { threads, counts } = countedPool({ threads: 2 });
  using _ = threads;
  const wrapped = withZarrParts(stored, { threads });
  const kept = new Map<string, Uint8Array>();
  let reads = 0;
  const get: typeof wrapped.get = async (key, options) => {
    if (key.startsWith("/c/")) reads++;
    const bytes = kept.get(key) ?? await wrapped.get(key, options);
    if (bytes) kept.set(key, bytes);
    return bytes;
  };
  const layer = new Proxy(wrapped, {
    get: (target, name) => name === "get" ? get : Reflect.get(target, name),
  });
  const array = await zarr.open(layer, { kind: "array" });
  for (const total of [count, 2 * count]) {
    const { data } = await zarr.get(array);
    assert((data as Uint8Array).every((element) => element === 7));
    assertEquals([reads, counts.done], [total, total]);
  }
});

Deno.test("withZarrParts with a pool: damage is the error of zarrita, with the key", async () => {
  for (const [place, what] of [[0, "header"], [300, "length"]] as const) {
    const store = await storeArray(IMAGE);
    const bytes = (await store.get("/c/0/1"))!;
    if (what === "header") bytes[place]! ^= 1;
    await store.set(
      "/c/0/1",
      what === "header" ? bytes : bytes.slice(0, place),
    );
    const { threads, counts } = countedPool({ threads: 1 });
    using _ = threads;
    const errors = [];
    for (const wrap of [inPool(threads), withZarrParts]) {
      const array = await openArray(store, "", wrap as (s: Store) => object);
      errors.push(
        await assertRejects(() => zarr.get(array), zarr.CodecPipelineError),
      );
    }
    assertEquals(errors[0]!.message, errors[1]!.message);
    assertStringIncludes(errors[0]!.message, "/c/0/1");
    assertEquals(String(errors[0]!.cause), String(errors[1]!.cause));
    assertEquals(counts.failures.length, 1);
  }
});

Deno.test("getSharded and setSharded use the pool of the store, unless they are given threads", async () => {
  const store = await storeArray({
    ...IMAGE,
    dataType: "uint8",
    shape: [1024, 1024],
    chunkShapes: [[512, 512], [256, 256]],
  });
  const { threads, counts } = countedPool({ threads: 2 });
  const other = countedPool({ threads: 1 });
  using _ = threads;
  using _other = other.threads;
  const array = await openArray(store, "", inPool(threads));
  const plain = await openArray(store);
  const expected = await zarr.get(plain);
  const ways = {
    pool: () => getSharded(zarr, array),
    undefined: () => getSharded(zarr, array, null, { threads: undefined }),
    other: () => getSharded(zarr, array, null, { threads: other.threads }),
    plain: () => getSharded(zarr, plain),
  };
  for (const [way, read] of Object.entries(ways)) {
    const before = [counts.done, other.counts.done];
    assertSameRead(await read(), expected);
    const [own, others] = [counts.done, other.counts.done]
      .map((done, i) => done - before[i]!);
    const isOwn = way === "pool" || way === "undefined";
    assertEquals([own, others], [isOwn ? 16 : 0, way === "other" ? 16 : 0]);
  }
  for (const option of [undefined, other.threads]) {
    const before = counts.done;
    await setSharded(zarr, array, null, 5 as never, { threads: option });
    await setSharded(zarr, array, null, expected as never, { threads: option });
    assertSameRead(await zarr.get(plain), expected);
    assertEquals(counts.done > before, option === undefined);
  }
  assertEquals(counts.failures, []);
});

Deno.test("withZarrParts refuses threads that are no pool, and unknown options", () => {
  for (const threads of [4, 0, true, null, {}, "all"] as never[]) {
    assertThrows(
      () => withZarrParts(new Map(), { threads }),
      TypeError,
      'Expected the option "threads" to be a ThreadPool, found',
    );
  }
  assertThrows(
    () => withZarrParts(new Map(), { thread: undefined } as never),
    TypeError,
    'Unknown option "thread" of withZarrParts; expected "threads"',
  );
});
