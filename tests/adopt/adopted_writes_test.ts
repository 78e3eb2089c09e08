/** Writes into TIFFs and zips that were adopted. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import * as zarr from "zarrita";
import {
  type ArrayChunks,
  type ArrayMetadata,
  arrayMetadata,
  createArrayChunks,
  DamageError,
  encodeShard,
  FileSystemStore,
  MemoryStore,
  OtherBytesError,
  parseShardLayout,
  type ShardContainer,
  type Store,
} from "../../mod.ts";
import { decodeFileRecord } from "../../src/shards/file_record.ts";
import { adoptTiffs, describeTiff, tiffContainer } from "../../tiff.ts";
import { registerCodecs, setSharded, withZarrParts } from "../../zarrita.ts";
import { adoptZip, zipContainer } from "../../zip.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { contentsOf } from "../support/bytes.ts";
import { withoutVersions } from "../support/without_versions.ts";

registerCodecs(zarr);

type Writable = Store & Required<Pick<Store, "set" | "list" | "delete">>;

/** A kind of file, and how its array is made. */
interface Kind {
  readonly suffix: string;
  readonly codecs: readonly string[];
  readonly container: (
    metadata: ArrayMetadata,
  ) => (shard: readonly number[]) => ShardContainer;
  readonly adopt: (store: Store) => Promise<{ chunks: ArrayChunks }>;
}

const adoptTiff = (store: Store) => adoptTiffs(store, "a");
const KINDS: Record<string, Kind> = {
  "a TIFF": {
    suffix: ".tiff",
    codecs: ["zstd"],
    container: (metadata) => tiffContainer(metadata),
    adopt: adoptTiff,
  },
  "an uncompressed TIFF": {
    suffix: ".tiff",
    codecs: [],
    container: (metadata) => tiffContainer(metadata),
    adopt: adoptTiff,
  },
  "a TIFF with its directory at the end": {
    suffix: ".tiff",
    codecs: [],
    container: (metadata) => tiffContainer(metadata, { directory: "end" }),
    adopt: adoptTiff,
  },
  "a zip": {
    suffix: ".zip",
    codecs: ["zstd"],
    container: (metadata) => zipContainer(metadata, { zarrJson: "first" }),
    adopt: (store) => adoptZip(store, "a"),
  },
};

const SHAPE = [32, 48];
const ELEMENTS = Uint8Array.from({ length: 32 * 48 }, (_, i) => i % 7);

/** A file in a store, with no metadata of an array. */
async function storeFile(
  store: Writable,
  { suffix, codecs, container }: Kind,
): Promise<Uint8Array> {
  const given = arrayMetadata({
    shape: SHAPE,
    dataType: "uint8",
    shardShape: SHAPE,
    chunkShape: [16, 16],
    codecs: [...codecs],
    suffix,
    parts: ["", ".index"],
  });
  await createArrayChunks(store, "a", given);
  const root = zarr.root(withZarrParts(store)).resolve("a");
  const array = await zarr.open(root, { kind: "array" });
  await setSharded(zarr, array, null, ELEMENTS, {
    container: container(given),
  });
  await store.delete("/a/zarr.json");
  await store.delete(`/a/c/0/0${suffix}.index`);
  return (await store.get(`/a/c/0/0${suffix}`))!;
}

async function open(store: Writable) {
  const root = zarr.root(withZarrParts(store)).resolve("a");
  return await zarr.open(root, { kind: "array" });
}

async function inStores(
  act: (store: Writable) => Promise<void>,
): Promise<void> {
  await act(new MemoryStore());
  await act(withoutVersions(new MemoryStore()));
  await inTempDir((folder) => act(new FileSystemStore(folder)));
}

const first = (elements: Uint8Array) => elements.with(0, 200);
const all = (elements: Uint8Array) => elements.slice().fill(200);

/** A shard of one raw inner chunk. */
function rawShard({ metadata, chunkShape }: ArrayChunks): Uint8Array {
  const layout = parseShardLayout(metadata.codecs[0], chunkShape);
  const chunks: (Uint8Array | undefined)[] = Array(6).fill(undefined);
  return encodeShard(chunks.with(0, new Uint8Array(256)), layout);
}

for (const [name, kind] of Object.entries(KINDS)) {
  const { suffix, container, adopt } = kind;
  const key = `/a/c/0/0${suffix}` as const;

  Deno.test(`no write destroys ${name} that was adopted`, async () => {
    await inStores(async (store) => {
      const file = await storeFile(store, kind);
      const { chunks } = await adopt(store);
      assertEquals(await store.get(key), file);
      const before = await contentsOf(store);
      const array = await open(store);
      const raw = rawShard(chunks);
      const ways = {
        "zarr.set of an element": () => zarr.set(array, [0, 0], 200),
        "zarr.set of a tile": () =>
          zarr.set(array, [zarr.slice(16), zarr.slice(16)], 200),
        "zarr.set": () => zarr.set(array, null, 200),
        "delete": () => (array.store as Store).delete!("/a/c/0/0"),
        "setSharded of an element": () => setSharded(zarr, array, [0, 0], 200),
        "setSharded": () => setSharded(zarr, array, null, 200),
        "ArrayChunks.set": () => chunks.set([0, 0], raw),
        "ArrayChunks.set of a stream": () =>
          chunks.set([0, 0], ReadableStream.from([raw])),
      };
      for (const [way, write] of Object.entries(ways)) {
        const error = await assertRejects(write, OtherBytesError);
        assertEquals([error.key, error.offset], [key, 0], way);
        assertEquals(await contentsOf(store), before, way);
      }
      assertEquals((await zarr.get(array)).data, ELEMENTS);
    });
  });

  Deno.test(`setSharded with a container writes ${name} that was adopted as a whole file`, async () => {
    const changes = [
      [[0, 0], first],
      [null, all],
    ] as const;
    for (const [selection, expected] of changes) {
      await inStores(async (store) => {
        await storeFile(store, kind);
        const { chunks } = await adopt(store);
        await setSharded(
          zarr,
          await open(store),
          selection && [...selection],
          200,
          {
            container: container(chunks.metadata),
          },
        );
        const elements = expected(ELEMENTS);
        assertEquals((await zarr.get(await open(store))).data, elements);

        // The file is the same as one of an array that was never adopted.
        const anew = new MemoryStore();
        await storeFile(anew, kind);
        const { chunks: others } = await adopt(anew);
        await setSharded(zarr, await open(anew), null, elements, {
          container: container(others.metadata),
        });
        const file = (await store.get(key))!;
        assertEquals(file, await anew.get(key));

        // The record is that of the file, which can be adopted again.
        const index = (await store.get(`${key}.index`))!;
        const record = decodeFileRecord(index.subarray(0, 32));
        assertEquals(record, { size: file.length, contents: 0 });
        if (suffix === ".tiff") await describeTiffOf(file);
        await store.delete("/a/zarr.json");
        await store.delete(`${key}.index`);
        await adopt(store);
        assertEquals((await zarr.get(await open(store))).data, elements);
      });
    }
  });

  Deno.test(`a file that replaces ${name} after its adoption is not overwritten`, async () => {
    await inStores(async (store) => {
      const file = await storeFile(store, kind);
      const { chunks } = await adopt(store);
      const other = Uint8Array.of(...file, 1, 2, 3);
      for (const replaced of [other, other.slice(0, file.length - 1)]) {
        await store.set(key, replaced);
        const array = await open(store);
        const before = await contentsOf(store);
        const given = { container: container(chunks.metadata) };
        const damaged = [
          () => zarr.set(array, [0, 0], 200),
          () => zarr.set(array, null, 200),
          () => setSharded(zarr, array, [0, 0], 200),
          () => setSharded(zarr, array, [0, 0], 200, given),
          () => setSharded(zarr, array, null, 200),
          () => chunks.set([0, 0], rawShard(chunks)),
        ];
        for (const write of damaged) await assertRejects(write, DamageError);
        assertEquals(await contentsOf(store), before);
      }
      for (const index of [undefined, new Uint8Array(9)]) {
        const given = { container: container(chunks.metadata) };
        await setSharded(zarr, await open(store), null, 200, given);
        const { data } = await zarr.get(await open(store));
        assertEquals(data, all(ELEMENTS));
        // A damaged index is replaced, too.
        if (index) await store.set(`${key}.index`, index);
        else await store.delete(`${key}.index`);
      }
    });
  });

  Deno.test(`setSharded with otherBytes: "replace" makes an array of ${name} that was adopted`, async () => {
    await inStores(async (store) => {
      await storeFile(store, kind);
      await adopt(store);
      const array = await open(store);
      await setSharded(zarr, array, [0, 0], 200, { otherBytes: "replace" });
      const { data } = await zarr.get(await open(store));
      assertEquals(data, first(ELEMENTS));
      await setSharded(zarr, array, null, 200, { otherBytes: "replace" });
      await zarr.set(array, [0, 0], 201);
      assertEquals(
        (await zarr.get(await open(store))).data,
        all(ELEMENTS).with(0, 201),
      );
    });
  });
}

Deno.test("setSharded with a container does not lose the other pages of a TIFF of which one was adopted", async () => {
  await inStores(async (store) => {
    const metadata = arrayMetadata({
      shape: [2, 16, 16],
      dataType: "uint8",
      shardShape: [2, 16, 16],
      chunkShape: [1, 16, 16],
    });
    const layout = parseShardLayout(metadata.codecs[0], [2, 16, 16]);
    const pages = [1, 2].map((value) => new Uint8Array(256).fill(value));
    const file = encodeShard(pages, layout, {
      container: tiffContainer(metadata)([0, 0, 0]),
    });
    const key = "/a/c/0/0.tiff";
    await store.set(key, file);
    const { chunks } = await adoptTiffs(store, "a", { page: 1 });
    const before = await contentsOf(store);
    const array = await open(store);
    const container = tiffContainer(chunks.metadata);
    for (const selection of [[0, 0], null]) {
      const error = await assertRejects(
        () => setSharded(zarr, array, selection, 9, { container }),
        OtherBytesError,
      );
      assertEquals(
        error.message,
        'File "/a/c/0/0.tiff" was adopted in part, and the container would write it without the rest, such as other pages of a TIFF or other arrays of a zip: lose the rest by otherBytes: "replace", or copy the array to other files first',
      );
      assertEquals([error.key, error.offset, error.length], [
        key,
        0,
        file.length,
      ]);
      assertEquals(await contentsOf(store), before);
    }
    const options = { container, otherBytes: "replace" } as const;
    await setSharded(zarr, array, [0, 0], 9, options);
    await setSharded(zarr, array, [0, 1], 8, { container }); // No other pages by now.
    const expected = new Uint8Array(256).fill(2).with(0, 9).with(1, 8);
    assertEquals((await zarr.get(await open(store))).data, expected);
    await describeTiffOf((await store.get(key))!);
  });
});

async function describeTiffOf(file: Uint8Array): Promise<void> {
  const store = new MemoryStore([["/file", file]]);
  const { pages } = await describeTiff((range) =>
    store.getRange("/file", range)
  );
  assertEquals(pages.length, 1);
  assert(pages[0] !== undefined);
}

Deno.test("shards that are shorter than the record of an adopted file are guarded and written as others are", async () => {
  await inStores(async (store) => {
    const given = arrayMetadata({
      shape: [12],
      dataType: "uint8",
      shardShape: [6],
      chunkShape: [3],
      suffix: ".zip",
      parts: ["", ".index"],
    });
    await createArrayChunks(store, "a", given);
    const container = zipContainer(given, { zarrJson: "first" });
    await setSharded(zarr, await open(store), [zarr.slice(6)], 1, {
      container,
    });
    await store.delete("/a/zarr.json");
    await store.delete("/a/c/0.zip.index");
    const { chunks: { metadata } } = await adoptZip(store, "a");
    // The array grows by a shard, which is not there yet.
    const document = JSON.stringify({ ...metadata, shape: [12] });
    await store.set("/a/zarr.json", new TextEncoder().encode(document));

    const array = await open(store);
    await assertRejects(
      () => setSharded(zarr, array, [zarr.slice(6)], 2),
      OtherBytesError,
    );
    await zarr.set(array, [zarr.slice(6, 12)], 3);
    const values = async () => (await zarr.get(await open(store))).data;
    assertEquals(
      await values(),
      Uint8Array.of(1, 1, 1, 1, 1, 1, 3, 3, 3, 3, 3, 3),
    );
    await setSharded(zarr, array, null, 4, { otherBytes: "replace" });
    await setSharded(zarr, array, [1], 5);
    assertEquals(await values(), new Uint8Array(12).fill(4).with(1, 5));
  });
});
