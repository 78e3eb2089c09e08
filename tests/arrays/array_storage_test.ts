import { assertEquals } from "@std/assert";
import { MemoryStore } from "../../mod.ts";
import { ArrayStorage } from "../../src/arrays/array_storage.ts";
import { contentsOf, countingBytes } from "../support/bytes.ts";
import { arrayMetadata, concatParts } from "../support/metadata.ts";

Deno.test("ArrayStorage.transform splits chunks of its array, and no other value", async () => {
  const storage = new ArrayStorage(arrayMetadata({
    storage_transformers: [
      concatParts({ key_suffix: ".a", size: 1 }, { key_suffix: ".b" }),
    ],
  }));
  const memory = new MemoryStore();
  const store = storage.transform(memory, "/x");
  const others = [
    "/y/c/0/0", // of another array
    "/c/0/0",
    "/x/c/3/0", // outside the grid
    "/x/c/0/0/0",
    "/x/zarr.json",
  ] as const;
  for (const key of others) await store.set!(key, countingBytes(3));
  await store.set!("/x/c/0/0", countingBytes(3));
  const contents = await contentsOf(memory);
  assertEquals(
    Object.keys(contents),
    [...others, "/x/c/0/0.a", "/x/c/0/0.b"].sort(),
  );
  assertEquals(contents["/x/c/0/0.b"], [1, 2]);
});
