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
