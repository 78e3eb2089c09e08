import { assert, assertEquals, assertRejects } from "@std/assert";
import * as zarr from "zarrita";
import {
  arrayMetadata,
  DamageError,
  FileSystemStore,
  HttpStore,
  MemoryStore,
  MetadataError,
  plainView,
  type Store,
  type StoreKey,
  SuffixChunkKeyEncoding,
} from "../../mod.ts";
import {
  adoptFiles,
  arrayOf,
  type FileFormat,
} from "../../src/adopt/adopt_files.ts";
import type { PlacedArray } from "../../src/adopt/adopted_array.ts";
import { type AdoptionOptions, adoptTiffs, verifyAdopted } from "../../tiff.ts";
import { withZarrParts } from "../../zarrita.ts";
import { serve, storeHandler } from "../stores/loopback.ts";
import { inTempDir, present } from "../stores/temp_dir.ts";
import { contentsOf } from "../support/bytes.ts";
import { tiffOf } from "./tiled_files.ts";

/** A file with a header of three bytes before four bytes of elements. The second inner chunk is absent. */
const FILE = new Uint8Array([200, 201, 202, 1, 2, 3, 4, 203]);

function fileAt(n: number, key: StoreKey = `/a/c/${n}.raw`): PlacedArray {
  return {
    coordinates: [n],
    key,
    size: FILE.length,
    contents: 0,
    shape: [8],
    chunkShape: [4],
    chunks: [{ offset: 3, length: 4 }, undefined],
  };
}

/** Adopts files of a format that needs no reading as the array `a`, of shards of two inner chunks of four bytes. */
async function adopt(
  store: Store,
  files: readonly PlacedArray[],
  options: AdoptionOptions = {},
  count = files.length,
) {
  const metadata = arrayMetadata({
    shape: [8],
    dataType: "uint8",
    chunkShape: [4],
    fillValue: 9,
  });
  const mosaic = {
    shape: [8 * count],
    shardShape: [8],
    chunkShape: [4],
    chunksPerShard: [2],
  };
  const format: FileFormat<object> = {
    suffixes: [".raw"],
    isPicture: false,
    read: () => Promise.resolve({}),
    dimensionsOf: () => [null],
    compose: () =>
      Promise.resolve({
        arrays: [{ path: "", metadata, mosaic, files }],
        notes: ["A note"],
      }),
  };
  return arrayOf(
    await adoptFiles(store, "a", format, {
      keys: files.map(({ key }) => key),
      encoding: new SuffixChunkKeyEncoding(".raw"),
      place: () => ({
        coordinates: files.map(({ coordinates }) => coordinates),
        stack: 0,
      }),
    }, options),
  );
}

async function elementsOf(store: Store): Promise<number[]> {
  const root = zarr.root(withZarrParts(store)).resolve("a");
  const array = await zarr.open(root, { kind: "array" });
  return Array.from((await zarr.get(array)).data as Uint8Array);
}

const ELEMENTS = [1, 2, 3, 4, 9, 9, 9, 9];

Deno.test("adoptFiles makes an array of files, which stay as they are", async () => {
  const store = new MemoryStore([["/a/c/0.raw", FILE], ["/a/c/2.raw", FILE]]);
  const { chunks, report } = await adopt(
    store,
    [fileAt(0), fileAt(2)],
    {},
    3,
  );
  assertEquals(report, {
    files: 2,
    missingFiles: 1,
    innerChunks: 2,
    indexBytes: 2 * (32 + 36),
    notes: ["A note"],
  });
  assertEquals(await store.get("/a/c/0.raw"), FILE);
  assertEquals(await chunks.size([0]), FILE.length + 32 + 36);
  const absent = new Array(8).fill(9);
  assertEquals(await elementsOf(store), [...ELEMENTS, ...absent, ...ELEMENTS]);
  const plain = await Array.fromAsync(plainView(store).list!("/a/c"));
  assertEquals(plain.sort(), ["/a/c/0", "/a/c/2"]);
});

Deno.test("adoptFiles refuses keys that are there already, unless overwrite is set", async () => {
  for (
    const key of ["/a/zarr.json", "/a/c/0.raw.index", "/a/c/1.raw"] as const
  ) {
    const store = new MemoryStore([
      ["/a/c/0.raw", FILE],
      ["/other.raw", FILE],
      [key, FILE],
    ]);
    const before = await contentsOf(store);
    const linking = Object.assign(store, {
      link: async (from: StoreKey, to: StoreKey) =>
        await store.set(to, (await store.get(from))!),
    });
    const files = [fileAt(0), fileAt(1, "/other.raw")];
    await assertRejects(
      () => adopt(linking, files, { link: true }),
      MetadataError,
      `Cannot adopt files: "${key}" is there already`,
    );
    assertEquals(await contentsOf(store), before);
  }
  const store = new MemoryStore([
    ["/a/c/0.raw", FILE],
    ["/a/zarr.json", FILE],
    ["/a/c/0.raw.index", FILE],
  ]);
  await adopt(store, [fileAt(0)], { overwrite: true });
  assertEquals(await elementsOf(store), ELEMENTS);
});

Deno.test("adoptFiles removes what it wrote if it fails, links too", () =>
  inTempDir(async (folder) => {
    const store = new FileSystemStore(folder);
    for (const name of ["S2A", "S2B"]) {
      await Deno.writeFile(`${folder}/${name}.raw`, FILE);
    }
    const set = store.set.bind(store);
    store.set = (key, value) =>
      key === "/a/c/1.raw.index"
        ? Promise.reject(new Error("No space left"))
        : set(key, value);
    const files = [fileAt(0, "/S2A.raw"), fileAt(1, "/S2B.raw")];
    await assertRejects(
      () => adopt(store, files, { link: true }),
      Error,
      "No space left",
    );
    const left = (await Array.fromAsync(store.list())).sort();
    assertEquals(left, ["/S2A.raw", "/S2B.raw"]);
    assertEquals(await Deno.readFile(`${folder}/S2A.raw`), FILE);
  }));

Deno.test("verifyAdopted begins no further file after a failure of the store", async () => {
  const files = Array.from({ length: 100 }, (_, n) => [n, tiffOf(n)] as const);
  const store = new MemoryStore(
    files.map(([n, file]) => [`/a/c/${n}/0.tif`, file] as const),
  );
  await adoptTiffs(store, "a");
  const begun = new Set<StoreKey>();
  const read = store.read.bind(store);
  store.read = (keys, task, options) => {
    if (keys[0]!.endsWith(".tif")) begun.add(keys[0]!);
    return keys[0] === "/a/c/0/0.tif"
      ? Promise.reject(new Error("The store has failed"))
      : read(keys, task, options);
  };
  await assertRejects(
    () => verifyAdopted(store, "a"),
    Error,
    "The store has failed",
  );
  assert(begun.size < 50, `${begun.size} files`);
});

Deno.test("adoptFiles refuses two files of one chunk, and keys of no chunk", async () => {
  const store = new MemoryStore([["/a/c/0.raw", FILE]]);
  const adoptAll = (files: PlacedArray[], link = false) =>
    adopt(store, files, { link }, 1);
  await assertRejects(
    () => adoptAll([fileAt(0), fileAt(0, "/b.raw")], true),
    RangeError,
    'one file for the chunk [0], found "/a/c/0.raw" and "/b.raw"',
  );
  await assertRejects(
    () => adoptAll([fileAt(0, "/b.raw")]),
    RangeError,
    'File "/b.raw" does not have the key of its chunk [0], "/a/c/0.raw": set link: true',
  );
  await assertRejects(
    () => adoptAll([fileAt(0, "/b.raw")], true),
    TypeError,
    'has no "link" method: FileSystemStore can link files',
  );
  await assertRejects(
    () => adoptAll([fileAt(1)]),
    RangeError,
    "not in the chunk grid",
  );
});

Deno.test("adoptFiles gives files of other names the keys of their chunks", () =>
  inTempDir(async (folder) => {
    const store = new FileSystemStore(folder);
    await Deno.writeFile(`${folder}/S2A.raw`, FILE);
    const files = [fileAt(0, "/S2A.raw")];
    await adopt(store, files, { link: true });
    assertEquals(await elementsOf(store), ELEMENTS);
    const [file, linked] = await Promise.all(
      ["S2A.raw", "a/c/0.raw"].map((name) => Deno.stat(`${folder}/${name}`)),
    );
    assertEquals(file!.ino, linked!.ino);
    const again = { link: true, overwrite: true };
    await adopt(store, files, again);
    assertEquals(await elementsOf(store), ELEMENTS);
  }));

Deno.test("adoptFiles removes the temporary files of programs that were killed", () =>
  inTempDir(async (folder) => {
    const store = new FileSystemStore(folder);
    await store.set("/a/c/0.raw", FILE);
    const left = `${folder}/a/c/.zarr-parts-tmp-1`;
    await Deno.writeFile(left, FILE);
    await adopt(store, [fileAt(0)], { dryRun: true });
    assertEquals(await present(left), true);
    await adopt(store, [fileAt(0)]);
    assertEquals(await present(left), false);
  }));

Deno.test("an adopted file of another length than when it was adopted is a DamageError", () =>
  inTempDir(async (folder) => {
    const memory = new MemoryStore();
    const bare: Store = {
      get: (key) => memory.get(key),
      set: (key, value) => memory.set(key, value),
    };
    const served = new MemoryStore();
    const handler = storeHandler(served);
    const requests: string[] = [];
    const server = serve((request) => {
      requests.push(new URL(request.url).pathname);
      return handler(request);
    });
    const files = new FileSystemStore(folder);
    const other = new MemoryStore();
    try {
      for (
        const [store, reader] of [
          [files, files],
          [other, other],
          [bare, bare],
          [served, new HttpStore(server.url)],
        ] as const
      ) {
        await store.set!("/a/c/0.raw", FILE);
        await adopt(store, [fileAt(0)]);
        assertEquals(await elementsOf(reader), ELEMENTS);
        for (const length of [7, 9, 1000]) {
          const bytes = new Uint8Array(length);
          bytes.set(FILE.subarray(0, length));
          await store.set!("/a/c/0.raw", bytes);
          requests.length = 0;
          const error = await assertRejects(
            () => elementsOf(reader),
            DamageError,
            `File "/a/c/0.raw" is ${length} bytes long, where its index was made for 8: it was replaced`,
          );
          assertEquals(error.key, "/a/c/0.raw");
        }
      }
      assertEquals(requests.filter((path) => path.includes("/c/")), [
        "/a/c/0.raw.index",
        "/a/c/0.raw",
      ]);
    } finally {
      await server.close();
    }
  }));

Deno.test("a shard with other bytes before its index has no record, and is read", async () => {
  const store = new MemoryStore([["/a/c/0.raw", FILE]]);
  const { chunks } = await adopt(store, [fileAt(0)]);
  const part = (await store.get("/a/c/0.raw.index"))!;
  part.fill(7, 0, 32);
  await store.set("/a/c/0.raw.index", part);
  await store.set("/a/c/0.raw", FILE.subarray(0, 7));
  assertEquals(await elementsOf(store), ELEMENTS);
  assertEquals((await chunks.get([0]))!.length, 7 + 68);
});

Deno.test("adoptFiles refuses inner chunks that overlap, which no reader takes, and accepts the same bytes twice", async () => {
  const at = (offset: number, length = 2) => ({ offset, length });
  for (
    const [chunks, message] of [
      [[at(1), at(1)], undefined],
      [[at(6), at(4)], undefined],
      [
        [at(3), at(4)],
        'Inner chunks 0 and 1 of "/a/c/0.raw" overlap at byte 4',
      ],
      [[at(1), at(7)], "has 2 bytes from 7 on"],
    ] as const
  ) {
    const store = new MemoryStore([["/a/c/0.raw", FILE]]);
    const files = [{ ...fileAt(0), chunks }];
    if (message === undefined) await adopt(store, files);
    else {
      await assertRejects(() => adopt(store, files), DamageError, message);
      assertEquals(await Array.fromAsync(store.list()), ["/a/c/0.raw"]);
    }
  }
});
