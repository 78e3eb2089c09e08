import { assertEquals } from "@std/assert";
import fc from "fast-check";
import * as zarr from "zarrita";
import { MemoryStore } from "../../mod.ts";
import { registerCodecs, withZarrParts } from "../../zarrita.ts";
import {
  encodeJson,
  groupMetadata,
  readJson,
  readText,
  utf8,
} from "../support/documents.ts";
import { arraysOf } from "./any_array.ts";
import { shardedMetadata, shardedStore, sharding } from "./sharded_array.ts";

registerCodecs(zarr.registry);

/** A document with the members of all its objects in another order. */
function reordered(document: unknown): unknown {
  if (Array.isArray(document)) return document.map(reordered);
  if (typeof document !== "object" || document === null) return document;
  return Object.fromEntries(
    Object.entries(document).reverse()
      .map(([name, value]) => [name, reordered(value)]),
  );
}

Deno.test("withZarrParts stores a shown document with other attributes in its stored form with those attributes", async () => {
  const arrays = fc.nat(3).chain(arraysOf);
  await fc.assert(
    fc.asyncProperty(
      fc.array(arrays, { minLength: 1, maxLength: 3 }),
      async (arrays) => {
        const stored = new MemoryStore();
        const nodes = Object.fromEntries(
          arrays.map(({ metadata }, i) => [`a${i}/b`, metadata]),
        );
        await stored.set("/zarr.json", encodeJson(groupMetadata(nodes)));
        for (const [path, metadata] of Object.entries(nodes)) {
          await stored.set(`/${path}/zarr.json`, encodeJson(metadata));
        }
        const store = withZarrParts(stored);
        const attributes = { changed: true };
        const group = await readJson(store, "/zarr.json");
        const inGroup = group.consolidated_metadata.metadata;
        for (const path of Object.keys(nodes)) {
          inGroup[path] = { ...inGroup[path], attributes };
          const shown = await readJson(store, `/${path}/zarr.json`);
          const changed = { ...shown, attributes };
          await store.set(`/${path}/zarr.json`, encodeJson(changed));
        }
        await store.set("/zarr.json", encodeJson(group));
        for (const [path, metadata] of Object.entries(nodes)) {
          const expected = { ...metadata, attributes };
          assertEquals(await readJson(stored, `/${path}/zarr.json`), expected);
          const { consolidated_metadata } = await readJson(
            stored,
            "/zarr.json",
          );
          assertEquals(consolidated_metadata.metadata[path], expected);
        }
      },
    ),
    { numRuns: 60 },
  );
});

Deno.test("withZarrParts stores a shown document in its stored form, for any order of members", async () => {
  const stored = await shardedStore();
  const document = await readJson(stored, "/zarr.json");
  const store = withZarrParts(stored);
  const shown = await readJson(store, "/zarr.json");
  await store.set("/zarr.json", encodeJson(reordered(shown)));
  assertEquals(await readJson(stored, "/zarr.json"), document);
});

Deno.test("withZarrParts keeps the shards of an array whose fill value changes", async () => {
  const stored = await shardedStore(shardedMetadata({
    data_type: "float64",
    fill_value: "0x3ff0000000000000",
  }));
  const document = await readJson(stored, "/zarr.json");
  const store = withZarrParts(stored);
  const shown = await readJson(store, "/zarr.json");
  await store.set("/zarr.json", encodeJson({ ...shown, fill_value: 7 }));
  assertEquals(await readJson(stored, "/zarr.json"), {
    ...document,
    fill_value: 7,
  });
});

Deno.test("withZarrParts keeps the notation of numbers in stored documents", async () => {
  const number = "12345678901234567890";
  const stored = await shardedStore(shardedMetadata({
    storage_transformers: [
      { name: "x", must_understand: false, configuration: { n: "N" } },
    ],
    codecs: [sharding({ codecs: [{ name: "x", configuration: { n: "N" } }] })],
    attributes: { n: "N" },
  }));
  const text = (await readText(stored, "/zarr.json")).replaceAll('"N"', number);
  await stored.set("/zarr.json", utf8(text));
  const store = withZarrParts(stored);
  const shown = await readText(store, "/zarr.json");
  await store.set("/zarr.json", utf8(shown));
  const written = await readText(stored, "/zarr.json");
  assertEquals(written.split(number).length - 1, 3, written);
});
