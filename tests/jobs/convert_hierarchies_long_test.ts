import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { convert } from "../../jobs.ts";
import { MemoryStore, openArrayChunks, type StoreKey } from "../../mod.ts";
import { contentsOf } from "../support/bytes.ts";
import { readJson } from "../support/documents.ts";
import { anyHierarchy, storedAndPlain } from "../support/hierarchy.ts";
import { type Method, observed } from "../support/observed_store.ts";
import { checksummed } from "./checksummed.ts";
import { LAYOUTS, testShards } from "./convert_layouts.ts";

/** The optional methods of a source. */
const METHODS = fc.constantFrom<Method[]>(
  ["get", "getRange", "stream", "size", "list", "group"],
  ["get", "getRange", "stream", "size", "list"],
  ["get", "list"],
);

Deno.test("convert makes any hierarchy plain, byte by byte as a plain copy", async () => {
  await fc.assert(
    fc.asyncProperty(
      anyHierarchy.filter(({ groups, arrays }) =>
        groups.includes("") || arrays[0]?.path === ""
      ),
      METHODS,
      async (hierarchy, methods) => {
        const { stored, plain } = await storedAndPlain(hierarchy);
        const before = await contentsOf(stored);
        const target = new MemoryStore();
        const source = observed(stored, () => {}, methods);
        const { isFinished, copied, total } = await convert(source, target, {
          plain: true,
        });
        assertEquals(isFinished, true);
        assertEquals(copied, total);
        assertEquals(await contentsOf(target), await contentsOf(plain));
        assertEquals(await contentsOf(stored), before);
      },
    ),
    { numRuns: 200 },
  );
});

Deno.test("convert gives plain arrays any layout, and each array its own", async () => {
  await fc.assert(
    fc.asyncProperty(
      anyHierarchy.filter(({ groups, others }) =>
        groups.includes("") && others.length === 0
      ),
      async (hierarchy) => {
        const { stored, plain } = await storedAndPlain(hierarchy);
        const target = new MemoryStore();
        const layouts = new Map(
          hierarchy.arrays.map(({ path, stored }) => [path, stored]),
        );
        await convert(plain, { store: target, path: "deep/down" }, {
          metadata: (_, path) => layouts.get(path)!,
        });
        const [found, expected] = await Promise.all([
          withParsedDocuments(target, "/deep/down"),
          withParsedDocuments(stored, ""),
        ]);
        assertEquals(found, expected);
      },
    ),
    { numRuns: 200 },
  );
});

async function withParsedDocuments(
  store: MemoryStore,
  root: string,
): Promise<Record<string, unknown>> {
  const contents: Record<string, unknown> = {};
  for await (const key of store.list()) {
    assert(key.startsWith(root));
    contents[key.slice(root.length)] = key.endsWith("/zarr.json")
      ? await readJson(store, key)
      : Array.from((await store.get(key))!);
  }
  return contents;
}

Deno.test("convert stores chunks under the keys of the layout", async () => {
  const plain = new MemoryStore();
  await checksummed(plain, 40);
  for (const [name, [layout, expected]] of Object.entries(LAYOUTS)) {
    const target = new MemoryStore();
    await convert(plain, target, layout);
    const chunks = await openArrayChunks(target);
    const key = chunks.key([1, 2]);
    const keys = await Array.fromAsync(target.list());
    const found = keys.filter((each) => each.startsWith(key)).sort();
    assertEquals(found, expected as StoreKey[], name);
    const bytes = await chunks.get([1, 2]);
    assertEquals(bytes, await plain.get("/c/1/2"), name);
  }
});

for (const size of [5, 2 ** 20 - 71]) testShards(size);
