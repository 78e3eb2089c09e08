/** Elements of one chunk that are changed at the same time: none is lost in silence. */
import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertRejects,
} from "@std/assert";
import * as zarr from "zarrita";
import {
  type ArrayMetadata,
  createArrayChunks,
  FileSystemStore,
  MemoryStore,
  openArrayChunks,
  type Store,
} from "../../mod.ts";
import { S3Store } from "../../s3.ts";
import { ChunkWriting } from "../../src/zarrita/partial_writes.ts";
import {
  ChunkChangedError,
  registerCodecs,
  setSharded,
  withZarrParts,
  type ZarritaStore,
} from "../../zarrita.ts";
import { SimulatedBucket } from "../stores/s3/simulated_bucket.ts";
import { encodeJson } from "../support/documents.ts";
import { arrayMetadata, concatParts } from "../support/metadata.ts";
import { observed } from "../support/observed_store.ts";
import { row, sharding } from "./sharded_array.ts";

registerCodecs(zarr.registry);

const COUNT = 24;

/** Documents of arrays with one chunk, or with one shard of one inner chunk. */
const ARRAYS: Record<string, Record<string, unknown>> = {
  "a chunk": { codecs: ["bytes"] },
  "a compressed chunk": { codecs: ["bytes", "zstd"] },
  "a chunk in parts": {
    codecs: ["bytes", "gzip", "crc32c"],
    storage_transformers: [
      concatParts({ key_suffix: "" }, { key_suffix: ".crc32c", size: 4 }),
    ],
  },
  "a shard": { codecs: [sharding({ inner: [COUNT] })] },
  "a shard in parts": {
    codecs: [sharding({ inner: [COUNT], codecs: ["bytes", "zstd"] })],
    storage_transformers: [
      concatParts({ key_suffix: "" }, { key_suffix: ".index", size: 20 }),
    ],
  },
};

/** Gives two objects through which a test writes, and removes what it has written. */
type Stores = (
  test: (first: Store, second: Store) => Promise<void>,
) => Promise<void>;

const STORES: Record<string, Stores> = {
  async "MemoryStore"(test) {
    const store = new MemoryStore();
    await test(store, store);
  },
  async "a Map"(test) {
    const store = new Map() as unknown as Store;
    await test(store, store);
  },
  async "two of S3Store"(test) {
    const bucket = new SimulatedBucket();
    const open = () =>
      new S3Store("s3://bucket", {
        endpoint: "https://s3.test",
        fetch: async (request) => bucket.answer(request, await request.bytes()),
      });
    await test(open(), open());
  },
  async "two of FileSystemStore"(test) {
    const root = await Deno.makeTempDir();
    try {
      await test(new FileSystemStore(root), new FileSystemStore(root));
    } finally {
      await Deno.remove(root, { recursive: true });
    }
  },
};

function documentOf(array: string): ArrayMetadata {
  return arrayMetadata({
    shape: [COUNT],
    chunk_grid: { name: "regular", configuration: { chunk_shape: [COUNT] } },
    ...ARRAYS[array],
  });
}

/** Creates the array in a store that may be a `Map`. */
async function create(store: Store, array: string): Promise<void> {
  const bytes = encodeJson(documentOf(array));
  await store.set!("/zarr.json", bytes);
}

// deno-lint-ignore no-explicit-any -- arrays of zarrita have the type of their elements
async function open(store: ZarritaStore): Promise<any> {
  return await zarr.open(withZarrParts(store), { kind: "array" });
}

async function elements(store: Store): Promise<number[]> {
  const { data } = await zarr.get(await open(store)) as { data: unknown };
  return Array.from(data as Uint8Array);
}

const EXPECTED = Array.from({ length: COUNT }, (_, i) => i + 1);

for (const [place, stores] of Object.entries(STORES)) {
  for (const array of Object.keys(ARRAYS)) {
    Deno.test(`no update of an element is lost at once: ${array} in ${place}`, async () => {
      for (const isAbsent of [true, false]) {
        await stores(async (first, second) => {
          await create(first, array);
          const arrays = [await open(first), await open(second)];
          const arrayOf = (i: number) => arrays[i % 2];
          const reset = () => zarr.set(arrays[0], null, 0);
          if (!isAbsent) await reset();

          // zarrita's own `set`: each call is carried out, or says that it was not.
          const outcomes = await Promise.allSettled(
            EXPECTED.map((value, i) => zarr.set(arrayOf(i), [i], value)),
          );
          const found = await elements(first);
          outcomes.forEach((outcome, i) => {
            const isDone = outcome.status === "fulfilled";
            assertEquals(found[i], isDone ? EXPECTED[i] : 0);
            if (!isDone) assertInstanceOf(outcome.reason, ChunkChangedError);
          });
          assert(outcomes.some(({ status }) => status === "fulfilled"));

          await reset();
          await Promise.all(EXPECTED.map(async (value, i) => {
            for (let isDone = false; !isDone;) {
              try {
                await zarr.set(arrayOf(i), [i], value);
                isDone = true;
              } catch (error) {
                assertInstanceOf(error, ChunkChangedError);
              }
            }
          }));
          assertEquals(await elements(first), EXPECTED);

          if (!array.includes("shard")) return;
          await reset();
          await Promise.all(
            EXPECTED.map((value, i) =>
              setSharded(zarr, arrayOf(i), [i], value)
            ),
          );
          assertEquals(await elements(first), EXPECTED);
          // Both ways beside each other.
          await reset();
          await Promise.allSettled(EXPECTED.map(async (value, i) => {
            if (i % 3 > 0) {
              return await setSharded(zarr, arrayOf(i), [i], value);
            }
            await zarr.set(arrayOf(i), [i], value);
          }));
          const mixed = await elements(first);
          assert(
            mixed.every((value, i) =>
              value === EXPECTED[i] || i % 3 === 0 && value === 0
            ),
            `${mixed}`,
          );
        });
      }
    });
  }
}

Deno.test("zarr.set rejects with the key if the chunk was changed since it was read, and leaves it as it is", async () => {
  for (const array of Object.keys(ARRAYS)) {
    for (const writer of ["zarr.set", "ArrayChunks", "delete"]) {
      const stored = new MemoryStore();
      const chunks = await createArrayChunks(stored, "", documentOf(array));
      const one = await open(stored);
      await zarr.set(one, null, 1);
      const [first, bytes] = [await chunks.get([0]), await chunks.get([0])];
      await zarr.set(one, null, 2);
      const other = await open(stored);
      const original = other.getChunk;
      other.getChunk = async (...args: unknown[]) => {
        const chunk = await original(...args);
        if (writer === "ArrayChunks") {
          await (await openArrayChunks(stored)).set([0], bytes!);
        } else if (writer === "delete") await chunks.delete([0]);
        else await zarr.set(one, null, 1);
        return chunk;
      };
      const error = await assertRejects(
        () => zarr.set(other, [0], 9),
        ChunkChangedError,
        "call zarr.set again",
      );
      assertEquals(error.key, "/c/0");
      const isDeleted = writer === "delete";
      assertEquals(await chunks.get([0]), isDeleted ? undefined : first);
      other.getChunk = original;
      await zarr.set(other, [0], 9);
      const rest = isDeleted ? 0 : 1;
      assertEquals(await elements(stored), [
        9,
        ...Array(COUNT - 1).fill(rest),
      ]);
    }
  }
});

Deno.test("zarr.set meets no conflict with reads, whole chunks, equal bytes and other chunks", async () => {
  for (const array of Object.keys(ARRAYS)) {
    const stored = new MemoryStore();
    await createArrayChunks(stored, "", documentOf(array));
    const [one, two] = [await open(stored), await open(stored)];
    await one.getChunk([0]);
    await zarr.set(two, [1], 1);
    await one.getChunk([0]);
    await zarr.set(two, [2], 2);
    await zarr.set(one, [3], 3);
    await zarr.set(one, null, row(...EXPECTED));
    await Promise.all([zarr.set(one, null, 5), zarr.set(two, null, 5)]);
    await zarr.set(two, [0], 5);
    await Promise.all([zarr.set(one, [1], 5), zarr.set(two, [2], 5)]);
    assertEquals(await elements(stored), Array(COUNT).fill(5));
  }
  const stored = new MemoryStore();
  await createArrayChunks(
    stored,
    "",
    arrayMetadata({
      shape: [8],
      chunk_grid: { name: "regular", configuration: { chunk_shape: [8] } },
      codecs: [sharding({ inner: [2] })],
    }),
  );
  const arrays = [await open(stored), await open(stored)];
  await Promise.all(
    [0, 2, 4, 6].map((i) => zarr.set(arrays[i / 2 % 2], [i], i + 1)),
  );
  assertEquals(await elements(stored), [1, 0, 3, 0, 5, 0, 7, 0]);
});

Deno.test("zarr.set notices what a cache above the store has not seen", async () => {
  for (const array of Object.keys(ARRAYS)) {
    const stored = new MemoryStore();
    await createArrayChunks(stored, "", documentOf(array));
    const plain = await open(stored);
    await zarr.set(plain, null, 1);
    const cached = zarr.withByteCaching(withZarrParts(stored) as never);
    const above = await zarr.open(cached as never, { kind: "array" });
    await zarr.get(above as never);
    await zarr.set(plain, [1], 2);
    await assertRejects(
      () => zarr.set(above as never, [0], 9 as never),
      ChunkChangedError,
    );
    assertEquals((await elements(stored)).slice(0, 3), [1, 2, 1]);
  }
});

Deno.test("arrays of zarr.create change parts of chunks, and lose no update", async () => {
  for (
    const codecs of [
      [{ name: "bytes", configuration: {} }],
      [{ name: "bytes", configuration: {} }, { name: "gzip" }],
    ]
  ) {
    const stored = new MemoryStore();
    const store = withZarrParts(stored);
    const created = await zarr.create(store, {
      shape: [5],
      chunkShape: [3],
      dtype: "uint8",
      fillValue: 0,
      codecs: codecs as never,
    });
    // The last chunk ends outside of the array, so that zarrita reads it.
    await zarr.set(created, null, 1);
    await zarr.set(created, [0], 2);
    await zarr.set(created, [1], 3);
    await zarr.set(created, null, 4);
    assertEquals(await elements(stored), [4, 4, 4, 4, 4]);

    const results = await Promise.allSettled(
      [0, 1, 2].map((place) => zarr.set(created, [place], 5 + place)),
    );
    const expected = [4, 4, 4, 4, 4];
    for (const [place, { status }] of results.entries()) {
      if (status === "fulfilled") expected[place] = 5 + place;
    }
    assertEquals(await elements(stored), expected);
    for (const result of results) {
      if (result.status === "rejected") {
        assertInstanceOf(result.reason, ChunkChangedError);
      }
    }
    assertEquals(
      results.filter(({ status }) => status === "rejected").length,
      2,
    );

    const opened = await zarr.open(store, { kind: "array" });
    await created.getChunk([0]); // Nothing tells this from a read to change.
    await zarr.set(opened, [0], 8);
    await assertRejects(
      () => zarr.set(created, [1], 9),
      TypeError,
      "open the array by zarr.open",
    );
    assertEquals((await elements(stored)).slice(0, 2), [8, expected[1]!]);
    await zarr.set(created, [3], 9); // Another chunk.
    assertEquals((await elements(stored))[3], 9);
  }
});

Deno.test("arrays of zarr.create keep so many bytes to compare them, and refuse to change more", async () => {
  const place = { store: new MemoryStore(), key: "/c/0" as const };
  for (const [mostKept, isRefused] of [[4, false], [3, true]] as const) {
    const writing = new ChunkWriting(mostKept);
    for (const repeated of [1, 2]) {
      await place.store.set(place.key, new Uint8Array(4));
      writing.noteRead(place.key, new Uint8Array(4));
      const done = writing.write(
        place.key,
        place,
        new Uint8Array([repeated]),
        undefined,
      );
      if (isRefused) await assertRejects(() => done, TypeError);
      else await done;
      assertEquals(
        (await place.store.get(place.key))?.length,
        isRefused ? 4 : 1,
      );
    }
  }
});

Deno.test("a set that the store refuses is no set, and can be repeated", async () => {
  for (const array of Object.keys(ARRAYS)) {
    const stored = new MemoryStore();
    await createArrayChunks(stored, "", documentOf(array));
    const lost = new Error("Lost");
    let isBroken = false;
    const store = observed(stored, ({ method }) => {
      if (isBroken && method === "set") throw lost;
    });
    const one = await open(store);
    await zarr.set(one, [0], 1);
    isBroken = true;
    assertEquals(await assertRejects(() => zarr.set(one, [1], 2)), lost);
    isBroken = false;
    await zarr.set(one, [2], 3);
    assertEquals((await elements(stored)).slice(0, 3), [1, 0, 3]);
  }
});

Deno.test("whole chunks wait for those that hold the lock of the chunk", async () => {
  for (const [place, stores] of Object.entries(STORES)) {
    if (!/File|Memory/.test(place)) continue; // The others have no such locks.
    for (const array of Object.keys(ARRAYS)) {
      await stores(async (first, second) => {
        await create(first, array);
        const [one, chunks] = [
          await open(first),
          await openArrayChunks(second),
        ];
        await zarr.set(one, null, 1);
        const bytes = (await chunks.get([0]))!;
        await zarr.set(one, null, 2);
        const keys = await Array.fromAsync(first.list!("/c"));
        let isDone = 0;
        let writing: Promise<unknown>[] = [];
        await first.group!("/c/0", keys.sort()).lock!(async () => {
          writing = [
            zarr.set(one, null, 1).then(() => isDone++),
            chunks.set([0], bytes).then(() => isDone++),
          ];
          for (let i = 0; i < 10; i++) {
            await new Promise((next) => setTimeout(next));
          }
          assertEquals(isDone, 0);
        });
        await Promise.all(writing);
        assertEquals(await elements(first), Array(COUNT).fill(1));
      });
    }
  }
});
