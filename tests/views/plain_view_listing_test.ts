import { assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  createArrayChunks,
  MemoryStore,
  plainView,
  type StoreKey,
} from "../../mod.ts";
import { listed } from "../stores/store_values.ts";
import { encodeJson, groupMetadata } from "../support/documents.ts";
import { anyHierarchy, storedAndPlain } from "../support/hierarchy.ts";
import { arrayInParts } from "../support/in_parts.ts";
import { arrayMetadata } from "../support/metadata.ts";
import { runs } from "../support/runs.ts";
import { assertListsSame } from "../support/same_store.ts";

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

Deno.test("plainView lists a group called c and an array in it called 0", async () => {
  const { stored, chunks } = await arrayInParts("c/0", {
    chunk_key_encoding: { name: "v2", configuration: { separator: "/" } },
  });
  await stored.set("/zarr.json", encodeJson(groupMetadata()));
  await stored.set("/c/zarr.json", encodeJson(groupMetadata()));
  await chunks.set([1, 0], BYTES);
  assertEquals(await listed(stored, "/c/0/1"), ["/c/0/1/0", "/c/0/1/0.crc"]);
  const view = plainView(stored);
  assertEquals(await listed(view), [
    "/c/0/c/1/0",
    "/c/0/zarr.json",
    "/c/zarr.json",
    "/zarr.json",
  ]);
  assertEquals(await listed(view, "/c/0/1"), []);
  assertEquals(await listed(view, "/c/0"), ["/c/0/c/1/0", "/c/0/zarr.json"]);
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
