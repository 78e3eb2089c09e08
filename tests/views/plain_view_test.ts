import fc from "fast-check";
import { assertEquals } from "@std/assert";
import { FetchStore, FileSystemStore as ZarritaFiles } from "@zarrita/storage";
import {
  HttpStore,
  MemoryStore,
  plainView,
  type Store,
  type StoreKey,
} from "../../mod.ts";
import { serve, storeHandler } from "../stores/loopback.ts";
import { listed } from "../stores/store_values.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import {
  anyChunk,
  anyHierarchy,
  chunkOf,
  storedAndPlain,
} from "../support/hierarchy.ts";
import { arrayInParts, copyInto, smallHierarchy } from "../support/in_parts.ts";
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
