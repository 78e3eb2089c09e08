import { assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import {
  ConcatParts,
  MemoryStore,
  MissingPartError,
  type Part,
  PartSizeError,
  type StoreKey,
} from "../../mod.ts";
import { countingBytes } from "../support/bytes.ts";
import { logged, observed } from "../support/observed_store.ts";

const SHARD: Part[] = [
  { keySuffix: ".header", size: 64 },
  { keySuffix: "" },
  { keySuffix: ".index", size: 1604 },
];

/** A memory store that holds one chunk, `/c/0`, in parts. */
async function storedChunk(
  parts: Part[],
  chunk: Uint8Array,
): Promise<MemoryStore> {
  const store = new MemoryStore();
  await new ConcatParts(parts).apply(store).set("/c/0", chunk);
  return store;
}

/** What reading a shard of 10,000 bytes of data asks the store for. */
async function requestsOf(
  read: (store: ReturnType<ConcatParts["apply"]>) => Promise<unknown>,
  parts = SHARD,
): Promise<string[]> {
  const memory = await storedChunk(parts, countingBytes(64 + 10_000 + 1604));
  const { store, log } = logged(memory);
  await read(new ConcatParts(parts).apply(store));
  return log.sort();
}

Deno.test("ConcatParts.apply: a suffix range within the index is one get and no size look-up", async () => {
  for (const suffixLength of [1, 4, 1603, 1604]) {
    assertEquals(
      await requestsOf((store) => store.getRange("/c/0", { suffixLength })),
      ["get /c/0.index"],
    );
  }
});

Deno.test("ConcatParts.apply: a suffix range reaches as far into the data as it needs", async () => {
  assertEquals(
    await requestsOf((store) => store.getRange("/c/0", { suffixLength: 1605 })),
    ["get /c/0.index", "getRange /c/0"],
  );
  assertEquals(
    await requestsOf((store) =>
      store.getRange("/c/0", { suffixLength: 99_999 })
    ),
    ["get /c/0.header", "get /c/0.index", "getRange /c/0"],
  );
});

Deno.test("ConcatParts.apply: a suffix range over two tail parts reads only those it touches", async () => {
  const parts = [
    { keySuffix: "" },
    { keySuffix: ".index", size: 100 },
    { keySuffix: ".crc", size: 4 },
  ];
  const read = (suffixLength: number) =>
    requestsOf((store) => store.getRange("/c/0", { suffixLength }), parts);
  assertEquals(await read(4), ["get /c/0.crc"]);
  assertEquals(await read(5), ["get /c/0.crc", "get /c/0.index"]);
  assertEquals(await read(104), ["get /c/0.crc", "get /c/0.index"]);
  assertEquals(await read(105), [
    "get /c/0.crc",
    "get /c/0.index",
    "getRange /c/0",
  ]);
});

Deno.test("ConcatParts.apply: a range within head parts or the data reads only the parts it touches", async () => {
  const read = (offset: number, length: number) =>
    requestsOf((store) => store.getRange("/c/0", { offset, length }));
  assertEquals(await read(0, 64), ["get /c/0.header"]);
  assertEquals(await read(63, 1), ["get /c/0.header"]);
  assertEquals(await read(63, 2), ["get /c/0.header", "getRange /c/0"]);
  assertEquals(await read(64, 1), ["getRange /c/0"]);
  assertEquals(await read(64, 10_000), ["getRange /c/0"]);
  assertEquals(await read(64, 10_001), ["get /c/0.index", "getRange /c/0"]);
  // The data says by giving fewer bytes where it ends. Of a range behind it,
  // only the look-up of its size can tell.
  assertEquals(await read(10_063, 5), ["get /c/0.index", "getRange /c/0"]);
  assertEquals(
    await read(10_064, 5),
    ["get /c/0.index", "getRange /c/0", "size /c/0"],
  );
});

Deno.test("ConcatParts.apply: a range never asks for a part again", async () => {
  assertEquals(
    await requestsOf((store) =>
      store.getRange("/c/0", { offset: 0, length: 2 ** 53 - 1 })
    ),
    ["get /c/0.header", "get /c/0.index", "getRange /c/0"],
  );
});

Deno.test("ConcatParts.apply: a range within a large sized part reads the range and the size, not the part", async () => {
  const size = 256 * 1024 + 1;
  const parts = [{ keySuffix: ".head", size }, { keySuffix: "" }];
  const memory = await storedChunk(parts, countingBytes(size + 5));
  const { store, log } = logged(memory);
  const composed = new ConcatParts(parts).apply(store);
  assertEquals(
    await composed.getRange("/c/0", { offset: 1000, length: 10 }),
    countingBytes(10, 1000),
  );
  assertEquals(log.sort(), ["getRange /c/0.head", "size /c/0.head"]);

  await memory.set("/c/0.head", countingBytes(size + 1));
  const error = await assertRejects(
    () => composed.getRange("/c/0", { offset: 1000, length: 10 }),
    PartSizeError,
  );
  assertEquals([error.expected, error.actual], [size, size + 1]);
});

Deno.test("ConcatParts.apply: a whole get asks for all parts before the first has come", async () => {
  const memory = await storedChunk(SHARD, countingBytes(2000));
  let waiting = 0;
  let release = () => {};
  const allAsked = new Promise<void>((resolve) => release = resolve);
  const composed = new ConcatParts(SHARD).apply({
    async get(key: StoreKey) {
      if (++waiting === 3) release();
      await allAsked;
      return await memory.get(key);
    },
  });
  assertEquals(await composed.get("/c/0"), countingBytes(2000));
  assertEquals(waiting, 3);
});

Deno.test("ConcatParts.apply: a store with nothing but get is read right in every way", async () => {
  const chunk = countingBytes(3000);
  const memory = await storedChunk(SHARD, chunk);
  const composed = new ConcatParts(SHARD).apply({
    get: (key) => memory.get(key),
  });
  assertEquals(await composed.size("/c/0"), 3000);
  assertEquals(
    await composed.getRange("/c/0", { offset: 60, length: 2000 }),
    chunk.slice(60, 2060),
  );
  assertEquals(
    await composed.getRange("/c/0", { suffixLength: 1700 }),
    chunk.slice(1300),
  );
  const stream = (await composed.stream("/c/0"))!;
  assertEquals(
    new Uint8Array(
      await new Response(stream as ReadableStream<Uint8Array<ArrayBuffer>>)
        .arrayBuffer(),
    ),
    chunk,
  );
  assertEquals(Object.keys(composed).sort(), [
    "get",
    "getRange",
    "size",
    "stream",
  ]);
});

Deno.test("ConcatParts.apply: two unsized parts are read right, in every range", async () => {
  const memory = new MemoryStore([
    ["/c/0.a", countingBytes(3)],
    ["/c/0.b", countingBytes(2, 3)],
    ["/c/0.c", countingBytes(4, 5)],
    ["/c/0.d", countingBytes(1, 9)],
  ]);
  const composed = new ConcatParts([
    { keySuffix: ".a" },
    { keySuffix: ".b", size: 2 },
    { keySuffix: ".c" },
    { keySuffix: ".d", size: 1 },
  ]).apply(memory);
  const chunk = countingBytes(10);
  assertEquals(await composed.get("/c/0"), chunk);
  for (let a = 0; a <= 11; a++) {
    assertEquals(
      await composed.getRange("/c/0", { suffixLength: a }),
      a === 0 ? new Uint8Array(0) : chunk.slice(-a),
    );
    for (let b = 0; b <= 11; b++) {
      assertEquals(
        await composed.getRange("/c/0", { offset: a, length: b }),
        chunk.slice(a, a + b),
        `${b} bytes from ${a}`,
      );
    }
  }
});

/** All ways of reading a chunk; each must find what is wrong with it. */
const READS = {
  get: (store: ReturnType<ConcatParts["apply"]>) => store.get("/c/0"),
  size: (store: ReturnType<ConcatParts["apply"]>) => store.size("/c/0"),
  stream: async (store: ReturnType<ConcatParts["apply"]>) => {
    const stream = await store.stream("/c/0");
    return stream && await Array.fromAsync(stream);
  },
  "getRange over all": (store: ReturnType<ConcatParts["apply"]>) =>
    store.getRange("/c/0", { offset: 0, length: 99_999 }),
  "getRange of the last": (store: ReturnType<ConcatParts["apply"]>) =>
    store.getRange("/c/0", { suffixLength: 99_999 }),
};

for (const [name, read] of Object.entries(READS)) {
  Deno.test(`ConcatParts.apply: ${name}: a chunk without any part is absent`, async () => {
    const composed = new ConcatParts(SHARD).apply(new MemoryStore());
    assertStrictEquals(await read(composed), undefined);
  });

  for (
    const missing of SHARD.map((part) => `/c/0${part.keySuffix}` as StoreKey)
  ) {
    Deno.test(`ConcatParts.apply: ${name}: a chunk that lacks ${missing} is an error that names it`, async () => {
      const memory = await storedChunk(SHARD, countingBytes(3000));
      await memory.delete(missing);
      const keys = SHARD.map((part) => `/c/0${part.keySuffix}`);
      const error = await assertRejects(
        () => read(new ConcatParts(SHARD).apply(memory)),
        MissingPartError,
        `Chunk "/c/0" lacks "${missing}" but has `,
      );
      assertEquals(error.chunkKey, "/c/0");
      assertEquals(error.missing, [missing]);
      assertEquals(error.present, keys.filter((key) => key !== missing));
    });
  }

  for (
    const [part, size] of [["/c/0.header", 64], ["/c/0.index", 1604]] as const
  ) {
    for (const actual of [size - 1, size + 1, 0]) {
      Deno.test(`ConcatParts.apply: ${name}: ${part} of ${actual} bytes instead of ${size} is an error`, async () => {
        const memory = await storedChunk(SHARD, countingBytes(3000));
        await memory.set(part, new Uint8Array(actual));
        const error = await assertRejects(
          () => read(new ConcatParts(SHARD).apply(memory)),
          PartSizeError,
          `Part "${part}" is ${actual} bytes long, where its size is ${size}`,
        );
        assertEquals([error.key, error.expected, error.actual], [
          part,
          size,
          actual,
        ]);
      });
    }
  }
}

Deno.test("ConcatParts.apply: getRange of one part finds that another chunk's part is alone", async () => {
  const memory = await storedChunk(SHARD, countingBytes(3000));
  await memory.delete("/c/0.index");
  const composed = new ConcatParts(SHARD).apply(memory);
  await assertRejects(
    () => composed.getRange("/c/0", { suffixLength: 4 }),
    MissingPartError,
    'lacks "/c/0.index" but has "/c/0.header" and "/c/0"',
  );
  // Nothing of the index is asked for here, and nothing of it is known.
  assertEquals(
    await composed.getRange("/c/0", { offset: 0, length: 64 }),
    countingBytes(64),
  );
});

Deno.test("ConcatParts.apply: getRange that touches no part tells absence from emptiness", async () => {
  const parts = [{ keySuffix: "", size: 3 }, { keySuffix: ".b", size: 2 }];
  const composed = new ConcatParts(parts).apply(
    await storedChunk(parts, countingBytes(5)),
  );
  const empty = new Uint8Array(0);
  for (
    const range of [
      { offset: 5, length: 1 },
      { offset: 0, length: 0 },
      { offset: 2 ** 53 - 1, length: 2 ** 53 - 1 },
      { suffixLength: 0 },
    ]
  ) {
    assertEquals(await composed.getRange("/c/0", range), empty);
    assertStrictEquals(await composed.getRange("/c/1", range), undefined);
  }
});

Deno.test("ConcatParts.apply: getRange refuses ranges that are no whole numbers from 0 to 2^53−1", async () => {
  const composed = new ConcatParts(SHARD).apply(new MemoryStore());
  for (const wrong of [-1, 0.5, NaN, Infinity, 2 ** 53]) {
    for (
      const range of [
        { offset: wrong, length: 1 },
        { offset: 1, length: wrong },
        { suffixLength: wrong },
      ]
    ) {
      await assertRejects(
        () => composed.getRange("/c/0", range),
        RangeError,
        `a whole number from 0 to 2^53−1, found ${wrong}`,
      );
    }
  }
});

Deno.test("ConcatParts.apply: a declared size of 2^53−1 costs no memory and no wrong bytes", async () => {
  const parts = [
    { keySuffix: ".a", size: 2 ** 53 - 1 },
    { keySuffix: "" },
    { keySuffix: ".b", size: 2 ** 53 - 1 },
  ];
  const composed = new ConcatParts(parts).apply(
    new MemoryStore(
      parts.map(({ keySuffix }) => [`/c/0${keySuffix}`, countingBytes(10)]),
    ),
  );
  for (
    const read of [
      composed.get("/c/0"),
      composed.size("/c/0"),
      composed.getRange("/c/0", { suffixLength: 10 }),
      composed.getRange("/c/0", { offset: 0, length: 10 }),
      composed.getRange("/c/0", { offset: 2 ** 53 - 2, length: 2 ** 53 - 1 }),
      composed.set("/c/0", new Uint8Array(10)),
    ]
  ) {
    await assertRejects(() => read, PartSizeError);
  }
});

Deno.test("ConcatParts.apply: a store that gives more bytes than asked for is an error", async () => {
  const composed = new ConcatParts(SHARD).apply({
    get: () => Promise.resolve(undefined),
    getRange: () => Promise.resolve(new Uint8Array(11)),
  });
  await assertRejects(
    () => composed.getRange("/c/0", { offset: 64, length: 10 }),
    Error,
    'Expected at most 10 bytes of "/c/0" from the store, found 11',
  );
});

Deno.test("ConcatParts.apply: every request gets the signal", async () => {
  const memory = await storedChunk(SHARD, countingBytes(3000));
  const { signal } = new AbortController();
  const unsigned: string[] = [];
  let count = 0;
  const composed = new ConcatParts(SHARD).apply(
    observed(memory, ({ method, key, options }) => {
      count++;
      if (options?.signal !== signal) unsigned.push(`${method} ${key}`);
    }),
  );
  await composed.get("/c/0", { signal });
  await composed.getRange("/c/0", { offset: 10, length: 9000 }, { signal });
  await composed.getRange("/c/0", { offset: 9000, length: 9000 }, { signal });
  await composed.getRange("/c/0", { suffixLength: 9000 }, { signal });
  await composed.size("/c/0", { signal });
  await (await composed.stream("/c/0", { signal }))!.cancel();
  await composed.get("/c/absent", { signal });
  await composed.set!("/c/0", countingBytes(2000), { signal });
  await composed.set!("/c/1", countingBytes(2000), { signal });
  await Array.fromAsync(composed.list!("/", { signal }));
  await composed.delete!("/c/0", { signal });
  assertEquals(unsigned, []);
  assertEquals(count > 30, true);
});

Deno.test("ConcatParts.apply: an aborted signal stops every operation with its reason", async () => {
  const memory = await storedChunk(SHARD, countingBytes(3000));
  const composed = new ConcatParts(SHARD).apply(memory);
  const options = { signal: AbortSignal.abort(new Error("Enough")) };
  for (
    const start of [
      () => composed.get("/c/0", options),
      () => composed.getRange("/c/0", { offset: 0, length: 1 }, options),
      () => composed.size("/c/0", options),
      () => composed.stream("/c/0", options),
      () => composed.set("/c/0", new Uint8Array(5000), options),
      () => composed.delete("/c/0", options),
    ]
  ) {
    await assertRejects(start, Error, "Enough");
  }
  assertEquals(await composed.get("/c/0"), countingBytes(3000));
});

Deno.test("ConcatParts.apply: a store that gives fewer bytes of a sized part than it has is an error", async () => {
  const size = 300_000;
  const composed = new ConcatParts([{ keySuffix: "", size }]).apply({
    get: () => Promise.resolve(undefined),
    size: () => Promise.resolve(size),
    getRange: () => Promise.resolve(new Uint8Array(9)),
  });
  await assertRejects(
    () => composed.getRange("/c/0", { offset: 5, length: 10 }),
    PartSizeError,
    'Part "/c/0" is 9 bytes long, where its size is 10',
  );
});

Deno.test("ConcatParts.apply: a range that starts in an empty unsized part needs no size look-up", async () => {
  const parts = [{ keySuffix: "" }, { keySuffix: ".index", size: 4 }];
  const memory = await storedChunk(parts, countingBytes(4));
  const { store, log } = logged(memory);
  assertEquals(
    await new ConcatParts(parts).apply(store)
      .getRange("/c/0", { offset: 0, length: 2 }),
    countingBytes(2),
  );
  assertEquals(log, ["getRange /c/0", "get /c/0.index"]);
});

Deno.test("ConcatParts.apply: a part that vanishes while its chunk is read is a missing part", async () => {
  const parts = [{ keySuffix: "" }, { keySuffix: ".index", size: 4 }];
  const memory = new MemoryStore([["/c/0.index", countingBytes(4)]]);
  const composed = new ConcatParts(parts).apply({
    get: (key) => memory.get(key),
    size: (key) => memory.size(key),
    getRange: () => Promise.resolve(new Uint8Array(0)),
  });
  await assertRejects(
    () => composed.getRange("/c/0", { offset: 5, length: 2 }),
    MissingPartError,
    'lacks "/c/0" but has "/c/0.index"',
  );
});
