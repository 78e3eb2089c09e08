import {
  assertEquals,
  assertRejects,
  assertStrictEquals,
  assertThrows,
} from "@std/assert";
import {
  ArrayChunks,
  createArrayChunks,
  FileSystemStore,
  MemoryStore,
  MetadataError,
  MissingPartError,
  openArrayChunks,
} from "../../mod.ts";
import { contentsOf, countingBytes } from "../support/bytes.ts";
import { arrayMetadata, concatParts } from "../support/metadata.ts";

const IN_PARTS = {
  chunk_key_encoding: { name: "suffix", configuration: { suffix: ".shard" } },
  storage_transformers: [
    concatParts({ key_suffix: ".header", size: 3 }, { key_suffix: "" }, {
      key_suffix: ".index",
      size: 2,
    }),
  ],
};

async function emptyArray(changes: Record<string, unknown> = IN_PARTS) {
  const store = new MemoryStore();
  const chunks = await createArrayChunks(store, "a", arrayMetadata(changes));
  return { store, chunks };
}

/** The coordinates of all chunks in order, as text. */
async function listed(chunks: ArrayChunks): Promise<string[]> {
  return (await Array.fromAsync(chunks.list())).map(String).sort();
}

Deno.test("ArrayChunks stores chunks in parts and reads them in every way", async () => {
  const { store, chunks } = await emptyArray();
  const bytes = countingBytes(12);
  await chunks.set([2, 1], bytes);
  assertEquals(Object.keys(await contentsOf(store)), [
    "/a/c/2/1.shard",
    "/a/c/2/1.shard.header",
    "/a/c/2/1.shard.index",
    "/a/zarr.json",
  ]);
  assertEquals(chunks.key([2, 1]), "/a/c/2/1.shard");
  assertEquals(await chunks.get([2, 1]), bytes);
  assertEquals(
    await chunks.getRange([2, 1], { offset: 2, length: 9 }),
    bytes.slice(2, 11),
  );
  assertEquals(
    await chunks.getRange([2, 1], { suffixLength: 3 }),
    bytes.slice(9),
  );
  assertEquals(await chunks.size([2, 1]), 12);
  assertEquals(await chunks.has([2, 1]), true);
  const stream = (await chunks.stream([2, 1]))!;
  assertEquals(
    (await Array.fromAsync(stream)).flatMap((piece) => Array.from(piece)),
    Array.from(bytes),
  );
  assertEquals(await listed(chunks), ["2,1"]);

  await chunks.set(
    [2, 1],
    ReadableStream.from([bytes.slice(0, 1), bytes.slice(1, 6)]),
  );
  assertEquals(await chunks.get([2, 1]), bytes.slice(0, 6));
  await chunks.delete([2, 1]);
  assertEquals(Object.keys(await contentsOf(store)), ["/a/zarr.json"]);
});

Deno.test("ArrayChunks returns undefined for an absent chunk", async () => {
  const { chunks } = await emptyArray();
  assertStrictEquals(await chunks.get([0, 0]), undefined);
  assertStrictEquals(
    await chunks.getRange([0, 0], { suffixLength: 1 }),
    undefined,
  );
  assertStrictEquals(await chunks.stream([0, 0]), undefined);
  assertStrictEquals(await chunks.size([0, 0]), undefined);
  assertEquals(await chunks.has([0, 0]), false);
  await chunks.delete([0, 0]);
  assertEquals(await listed(chunks), []);
});

Deno.test("ArrayChunks refuses coordinates outside the chunk grid", async () => {
  const { store, chunks } = await emptyArray();
  const before = await contentsOf(store);
  const outside = [
    [3, 0],
    [0, 2],
    [-1, 0],
    [0.5, 0],
    [NaN, 0],
    [0],
    [0, 0, 0],
    [],
    [2 ** 53, 0],
  ];
  for (const coordinates of outside) {
    for (
      const start of [
        () => chunks.get(coordinates),
        () => chunks.getRange(coordinates, { suffixLength: 1 }),
        () => chunks.stream(coordinates),
        () => chunks.size(coordinates),
        () => chunks.has(coordinates),
        () => chunks.set(coordinates, countingBytes(9)),
        () => chunks.delete(coordinates),
      ]
    ) {
      await assertRejects(
        start,
        RangeError,
        `Chunk [${
          coordinates.join(", ")
        }] is not in the chunk grid, whose shape is [3, 2]`,
      );
    }
    assertThrows(
      () => chunks.key(coordinates),
      RangeError,
      "is not in the chunk grid",
    );
  }
  assertThrows(
    () => chunks.key(["0", 0] as unknown as number[]),
    RangeError,
    'Chunk ["0", 0]',
  );
  for (const wrong of [null, undefined, "00", 5]) {
    assertThrows(
      () => chunks.key(wrong as never),
      TypeError,
      `Expected grid coordinates, a list of numbers, found ${
        JSON.stringify(wrong)
      }`,
    );
  }
  assertEquals(await contentsOf(store), before);
});

Deno.test("ArrayChunks has one chunk without dimensions, and none with an empty dimension", async () => {
  const grid = (shape: number[]) => ({
    shape,
    chunk_grid: {
      name: "regular",
      configuration: { chunk_shape: shape.map(() => 4) },
    },
  });
  const scalar = (await emptyArray(grid([]))).chunks;
  await scalar.set([], countingBytes(1));
  assertEquals(scalar.key([]), "/a/c");
  assertEquals(await Array.fromAsync(scalar.list()), [[]]);
  const empty = (await emptyArray(grid([0, 4]))).chunks;
  assertThrows(() => empty.key([0, 0]), RangeError, "whose shape is [0, 1]");
});

Deno.test("ArrayChunks.list skips keys of no chunks", async () => {
  const { store, chunks } = await emptyArray();
  await chunks.set([0, 1], countingBytes(9));
  for (
    const key of [
      "/a/c/3/0.shard", // outside the grid
      "/a/c/0/0", // without the suffix
      "/a/c/0/0.shard.tmp",
      "/a/c/00/0.shard",
      "/a/b/c/1/1.shard", // of another node
      "/c/1/1.shard",
      "/ab/c/1/1.shard",
      "/a/.shard",
    ] as const
  ) {
    await store.set(key, countingBytes(9));
  }
  assertEquals(await listed(chunks), ["0,1"]);
  // A single part is an incomplete chunk, and reading it is an error.
  await store.set("/a/c/1/0.shard.index", countingBytes(2));
  assertEquals(await listed(chunks), ["0,1", "1,0"]);
  await assertRejects(() => chunks.get([1, 0]), MissingPartError);
});

Deno.test("ArrayChunks applies stacked transformers, the first nearest to the array", async () => {
  const { store, chunks } = await emptyArray({
    storage_transformers: [
      concatParts({ key_suffix: ".head", size: 4 }, { key_suffix: ".body" }),
      concatParts({ key_suffix: "" }, { key_suffix: "-last", size: 1 }),
    ],
  });
  const bytes = countingBytes(10);
  await chunks.set([0, 0], bytes);
  const { "/a/zarr.json": _, ...stored } = await contentsOf(store);
  assertEquals(stored, {
    "/a/c/0/0.body": [4, 5, 6, 7, 8],
    "/a/c/0/0.body-last": [9],
    "/a/c/0/0.head": [0, 1, 2],
    "/a/c/0/0.head-last": [3],
  });
  assertEquals(await chunks.get([0, 0]), bytes);
  assertEquals(await listed(chunks), ["0,0"]);
  await store.delete("/a/c/0/0.head-last");
  await assertRejects(
    () => chunks.get([0, 0]),
    MissingPartError,
    'Chunk "/a/c/0/0" lacks "/a/c/0/0.head-last" but has "/a/c/0/0.head", "/a/c/0/0.body" and "/a/c/0/0.body-last"',
  );
  await chunks.delete([0, 0]);
  assertEquals(Object.keys(await contentsOf(store)), ["/a/zarr.json"]);
});

Deno.test("ArrayChunks reads an array that zarr-python wrote", async () => {
  const store = new FileSystemStore(
    new URL("../fixtures/dem.zarr", import.meta.url),
  );
  const chunks = await openArrayChunks(store);
  const all = await listed(chunks);
  assertEquals(all.length > 4, true);
  assertEquals(await chunks.get([0, 0]), await store.get("/c/0/0"));
});

Deno.test("ArrayChunks names the method that the store lacks", async () => {
  const { store } = await emptyArray();
  const chunks = await openArrayChunks({ get: (key) => store.get(key) }, "a");
  await assertRejects(
    () => chunks.set([0, 0], countingBytes(9)),
    TypeError,
    "the store is read-only",
  );
  await assertRejects(
    () => chunks.delete([0, 0]),
    TypeError,
    'Cannot remove key "/a/c/0/0.shard": the store has no "delete" method',
  );
  await assertRejects(
    () => Array.fromAsync(chunks.list()),
    TypeError,
    'the store has no "list" method',
  );
});

Deno.test("ArrayChunks checks the metadata and reads nothing when constructed", () => {
  const chunks = new ArrayChunks(new MemoryStore(), "x", arrayMetadata());
  assertEquals(chunks.key([0, 0]), "/x/c/0/0");
  assertThrows(
    () => new ArrayChunks(new MemoryStore(), "", {}),
    MetadataError,
    "zarr_format",
  );
});

Deno.test("ArrayChunks.set cancels a stream that it cannot store", async () => {
  const { chunks } = await emptyArray();
  for (const coordinates of [[9, 9], [0, 0]]) {
    let cancelled: unknown;
    const controller = new AbortController();
    controller.abort(new Error("Enough"));
    const stream = new ReadableStream<Uint8Array>({
      cancel: (reason) => void (cancelled = reason),
    });
    const error = await assertRejects(() =>
      chunks.set(coordinates, stream, { signal: controller.signal })
    );
    assertStrictEquals(cancelled, error);
  }
});
