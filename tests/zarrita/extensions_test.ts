import { assert, assertEquals } from "@std/assert";
import { FileSystemStore as ZarritaFiles } from "@zarrita/storage";
import * as zarr from "zarrita";
import {
  FileSystemStore,
  HttpStore,
  MemoryStore,
  type Store,
} from "../../mod.ts";
import { registerCodecs, setSharded, withZarrParts } from "../../zarrita.ts";
import { type Loopback, serve, storeHandler } from "../stores/loopback.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { encodeJson, groupMetadata, readJson } from "../support/documents.ts";
import { copyInto } from "../support/in_parts.ts";
import {
  numbers,
  row,
  shardedMetadata,
  shardedStore,
} from "./sharded_array.ts";

registerCodecs(zarr.registry);

/** A group with consolidated metadata, and an array in shards at `/a`. */
async function hierarchy(): Promise<MemoryStore> {
  const array = await shardedStore();
  const stored = new MemoryStore();
  for await (const key of array.list()) {
    await stored.set(`/a${key}`, (await array.get(key))!);
  }
  const nodes = { a: await readJson(stored, "/a/zarr.json") };
  await stored.set("/zarr.json", encodeJson(groupMetadata(nodes)));
  return stored;
}

/** Asserts that zarrita reads the array, for any order of zarrita's extensions and ours. */
async function assertReads(below: zarr.AsyncReadable) {
  const stores = [
    zarr.extendStore(below, withZarrParts),
    await zarr.extendStore(
      below,
      withZarrParts,
      (store) => zarr.withConsolidatedMetadata(store, { format: "v3" }),
    ),
    await zarr.extendStore(
      below,
      (store) => zarr.withConsolidatedMetadata(store, { format: "v3" }),
      withZarrParts,
    ),
    zarr.extendStore(below, zarr.withByteCaching, withZarrParts),
    zarr.extendStore(below, withZarrParts, zarr.withByteCaching),
    zarr.extendStore(below, withZarrParts, zarr.withRangeCoalescing),
    ...below.getRange
      ? [zarr.extendStore(below, zarr.withRangeCoalescing, withZarrParts)]
      : [],
  ];
  for (const store of stores) {
    const root = zarr.root(store as zarr.AsyncReadable);
    const array = await zarr.open(root.resolve("a"), { kind: "array" });
    assertEquals(array.chunks, [2]);
    for (let i = 0; i < 2; i++) {
      assertEquals(
        Array.from((await zarr.get(array)).data as Uint8Array),
        numbers(12),
      );
    }
    assertEquals(await zarr.get(array, [6]), 7);
  }
}

/** Serves a store on this machine while a test runs. */
async function served(
  store: Store,
  run: (loopback: Loopback) => Promise<void>,
): Promise<void> {
  const loopback = serve(storeHandler(store));
  try {
    await run(loopback);
  } finally {
    await loopback.close();
  }
}

Deno.test("zarr.extendStore accepts withZarrParts before and after zarrita's extensions, over a MemoryStore and a Map", async () => {
  const stored = await hierarchy();
  await assertReads(stored);
  const map = new Map<string, Uint8Array>();
  for await (const key of stored.list()) map.set(key, (await stored.get(key))!);
  await assertReads(map as unknown as zarr.AsyncReadable);
});

Deno.test("zarr.extendStore accepts withZarrParts before and after zarrita's extensions, over HttpStore", async () => {
  await served(await hierarchy(), ({ url }) => assertReads(new HttpStore(url)));
});

Deno.test({
  name:
    "zarr.extendStore takes withZarrParts before and after zarrita's own extensions, of zarrita's FetchStore",
  // It does not read or cancel the body of a 404.
  sanitizeResources: false,
  fn: async () =>
    await served(
      await hierarchy(),
      ({ url }) => assertReads(new zarr.FetchStore(url)),
    ),
});

Deno.test("zarr.extendStore accepts withZarrParts before and after zarrita's extensions, over both file system stores", async () => {
  await inTempDir(async (folder) => {
    await copyInto(new FileSystemStore(folder), await hierarchy());
    await assertReads(new FileSystemStore(folder));
    await assertReads(new ZarritaFiles(folder));
  });
});

Deno.test("zarr.withConsolidatedMetadata over withZarrParts lists the nodes, and setSharded and zarr.set write their arrays", async () => {
  const stored = await hierarchy();
  const store = await zarr.withConsolidatedMetadata(withZarrParts(stored), {
    format: "v3",
  });
  assertEquals(store.contents(), [
    { path: "/", kind: "group" },
    { path: "/a", kind: "array" },
  ]);
  const array = await zarr.open(zarr.root(store).resolve("a"), {
    kind: "array",
  });
  assert(array.is("uint8"));
  await setSharded(zarr, array, [zarr.slice(0, 6)], row(...[9, 9, 9, 9, 9, 9]));
  await zarr.set(array, [11], 8);
  const anew = zarr.root(withZarrParts(stored)).resolve("a");
  const read = await zarr.get(await zarr.open(anew, { kind: "array" }));
  const changes = { 0: 9, 1: 9, 2: 9, 3: 9, 4: 9, 5: 9, 11: 8 };
  assertEquals(Array.from(read.data as Uint8Array), numbers(12, changes));
});

Deno.test("setSharded and zarr.set write through withZarrParts into both file system stores", async () => {
  for (const Files of [FileSystemStore, ZarritaFiles]) {
    await inTempDir(async (folder) => {
      const store = withZarrParts(new Files(folder));
      const document = encodeJson(shardedMetadata());
      await store.set("/zarr.json", document);
      const array = await zarr.open(store, { kind: "array" });
      assert(array.is("uint8"));
      await setSharded(zarr, array, null, row(...numbers(12)));
      await zarr.set(array, [zarr.slice(3, 6)], 50);
      const anew = withZarrParts(new FileSystemStore(folder));
      const read = await zarr.get(await zarr.open(anew, { kind: "array" }));
      assertEquals(
        Array.from(read.data as Uint8Array),
        numbers(12, { 3: 50, 4: 50, 5: 50 }),
      );
    });
  }
});
