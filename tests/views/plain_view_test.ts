import fc from "fast-check";
import { assertEquals } from "@std/assert";
import { FetchStore, FileSystemStore as ZarritaFiles } from "@zarrita/storage";
import {
  createArrayChunks,
  HttpStore,
  MemoryStore,
  plainView,
  type Store,
  type StoreKey,
} from "../../mod.ts";
import { serve, storeHandler } from "../stores/loopback.ts";
import { listed } from "../stores/store_values.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { readJson } from "../support/documents.ts";
import {
  anyChunk,
  anyHierarchy,
  chunkOf,
  storedAndPlain,
} from "../support/hierarchy.ts";
import { arrayInParts, copyInto, smallHierarchy } from "../support/in_parts.ts";
import { arrayMetadata } from "../support/metadata.ts";
import { observed } from "../support/observed_store.ts";
import { runs } from "../support/runs.ts";
import { assertListsSame, assertReadsSame } from "../support/same_store.ts";

/** The optional methods of the store below. */
const METHODS = fc.constantFrom<(keyof Store)[]>(
  ["get", "getRange", "stream", "size"],
  ["get", "getRange"],
  ["get"],
);
const ABSENT: readonly StoreKey[] = [
  "/nothing/zarr.json",
  "/nothing/c/0",
  "/nothing/x",
];

Deno.test("plainView reads any hierarchy like a plain copy", async () => {
  await fc.assert(
    fc.asyncProperty(
      anyHierarchy,
      fc.array(anyChunk, { maxLength: 5 }),
      METHODS,
      async (hierarchy, absent, methods) => {
        const { stored, plain } = await storedAndPlain(hierarchy);
        const view = plainView(observed(stored, () => {}, methods));
        const chunks = absent.map((chunk) => chunkOf(hierarchy, chunk)?.key);
        const keys = [...await Array.fromAsync(plain.list()), ...chunks];
        for (const key of new Set([...keys, ...ABSENT])) {
          if (key) await assertReadsSame(view, key, await plain.get(key));
        }
      },
    ),
    { numRuns: runs(400) },
  );
});

Deno.test({
  name: "plainView reads from zarrita's stores and from a Map",
  sanitizeResources: false, // zarrita's FetchStore leaves bodies of errors unread.
  async fn() {
    const { stored, plain } = await smallHierarchy();
    const { url, close } = serve(storeHandler(stored));
    await inTempDir(async (root) => {
      const map = new Map<StoreKey, Uint8Array>() as unknown as Store;
      const files: Store = new ZarritaFiles(root);
      await copyInto(map, stored);
      await copyInto(files, stored);
      for (const store of [map, files, new FetchStore(url) as Store]) {
        const view = plainView(store);
        for (const key of [...await Array.fromAsync(plain.list()), ...ABSENT]) {
          const value = await plain.get(key);
          // zarrita's file store returns a Buffer.
          const read = await view.get(key);
          assertEquals(read && new Uint8Array(read), value, key);
          assertEquals(await view.size(key), value?.length);
          const end = await view.getRange(key, { suffixLength: 3 });
          assertEquals(end && new Uint8Array(end), value?.slice(-3), key);
        }
      }
    });
    await close();
  },
});

Deno.test("plainView writes into zarrita's file store and into a Map", async () => {
  await inTempDir(async (root) => {
    const map = new Map<StoreKey, Uint8Array>();
    for (
      const store of [map as unknown as Store, new ZarritaFiles(root) as Store]
    ) {
      const { stored, plain } = await smallHierarchy();
      await copyInto(store, stored);
      const view = plainView(store);
      const chunk = Uint8Array.of(9, 8, 7, 6, 5, 4);
      await view.set!("/g/parts/c/0/0", chunk);
      await view.delete!("/g/parts/c/2/1");
      assertEquals(
        new Uint8Array((await view.get("/g/parts/c/0/0"))!),
        chunk,
      );
      assertEquals(await view.get("/g/parts/c/2/1"), undefined);
      const document = "/g/parts/zarr.json";
      await view.set!(document, (await plain.get(document))!);
      assertEquals(
        await readJson(store, document),
        await readJson(stored, document),
      );
    }
    assertEquals(map.get("/g/parts/c/0/0.bin.crc"), Uint8Array.of(5, 4));
  });
});

Deno.test("plainView has the methods of the store below, and can always read", () => {
  const memory = new MemoryStore();
  const all = ["get", "getRange", "stream", "size", "set", "list"] as const;
  const methods = (...below: (keyof Store)[]) => {
    const view = plainView(observed(memory, () => {}, ["get", ...below]));
    return all.filter((name) => (view as Store)[name] !== undefined).slice(4);
  };
  assertEquals(methods(), []);
  assertEquals(methods("set"), ["set"]);
  assertEquals(methods("list"), ["list"]);
  assertEquals(methods("set", "delete", "list"), ["set", "list"]);
  const map: Store = plainView(new Map() as unknown as Store);
  assertEquals(typeof map.size, "function");
  assertEquals(map.list, undefined);
  const readOnly = plainView(new HttpStore("https://example.org/x.zarr"));
  // @ts-expect-error The type lacks the method, too.
  assertEquals(readOnly.set, undefined);
});

const BYTES = Uint8Array.of(1, 2, 3);

Deno.test("plainView lists any hierarchy like a plain copy", async () => {
  await fc.assert(
    fc.asyncProperty(anyHierarchy, async (hierarchy) => {
      const { stored, plain } = await storedAndPlain(hierarchy);
      await assertListsSame(plainView(stored), plain);
    }),
    { numRuns: runs(200) },
  );
});

Deno.test("plainView does not list values that chunk keys hide", async () => {
  const { stored } = await arrayInParts("a");
  const hidden: StoreKey[] = ["/a/c/0/0", "/a/c/9/9", "/a/c/1", "/a/c"];
  const shown: StoreKey[] = [
    "/a/c/0/01",
    "/a/c/0/0.txt",
    "/a/c/9/9.bin", // That of no chunk: it is outside the grid.
    "/a/readme.md",
    "/a/x/c/0/0",
  ];
  for (const key of [...hidden, ...shown]) await stored.set(key, BYTES);
  const view = plainView(stored);
  assertEquals(await listed(view), [...shown, "/a/zarr.json"].sort());
  for (const key of shown) {
    assertEquals(await view.get(key), BYTES);
    assertEquals(await listed(view, key), [key]);
  }
  assertEquals(await view.get("/a/c/0/0"), undefined);
});

Deno.test("plainView lists an array that is created after a listing", async () => {
  const stored = new MemoryStore();
  const view = plainView(stored);
  assertEquals(await listed(view), []);
  assertEquals(await listed(view, "/a/c/"), []);
  const metadata = arrayMetadata({ chunk_key_encoding: "v2" });
  const chunks = await createArrayChunks(stored, "a", metadata);
  await chunks.set([1, 1], BYTES);
  assertEquals(await listed(view, "/a/c/"), ["/a/c/1/1"]);
  await view.delete("/a/zarr.json");
  assertEquals(await listed(view), ["/a/1.1"]);
});
