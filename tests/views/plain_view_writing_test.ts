import { assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import {
  ArrayChunks,
  MemoryStore,
  openArrayChunks,
  plainView,
  type StoreKey,
} from "../../mod.ts";
import { readAll, streamOf } from "../stores/store_values.ts";
import { contentsOf } from "../support/bytes.ts";
import { encodeJson, readJson, utf8 } from "../support/documents.ts";
import {
  anyChunk,
  anyHierarchy,
  chunkOf,
  type Hierarchy,
  storedAndPlain,
} from "../support/hierarchy.ts";
import { arrayInParts } from "../support/in_parts.ts";
import { observed } from "../support/observed_store.ts";
import { runs } from "../support/runs.ts";

const operation = fc.record({
  do: fc.constantFrom("bytes", "stream", "delete", "read", "attributes"),
  chunk: anyChunk,
});
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;
type View = ReturnType<typeof plainView<MemoryStore>>;

Deno.test("plainView agrees with the oracle after any operations", async () => {
  await fc.assert(
    fc.asyncProperty(
      anyHierarchy,
      fc.array(operation, { maxLength: 25 }),
      async (hierarchy, operations) => {
        const { stored, plain } = await storedAndPlain(hierarchy);
        const before = await storedDocuments(hierarchy, stored);
        const view = plainView(stored);
        for (const each of operations) {
          await perform(each, hierarchy, view, plain);
        }
        assertEquals(await storedDocuments(hierarchy, stored), before);
        assertEquals(
          await chunksIn(stored),
          await storedChunks(hierarchy, stored, plain),
        );
      },
    ),
    { numRuns: runs(200) },
  );
});

/** Runs an operation on the view and on the oracle, and compares the results. */
async function perform(
  operation: Operation,
  hierarchy: Hierarchy,
  view: View,
  plain: MemoryStore,
): Promise<void> {
  const chunk = chunkOf(hierarchy, operation.chunk);
  if (chunk === undefined) return;
  const { key, bytes, array: { path } } = chunk;
  switch (operation.do) {
    case "bytes":
      await view.set(key, bytes);
      return await plain.set(key, bytes);
    case "stream":
      await view.set(key, streamOf(bytes.slice(0, 3), bytes.slice(3)));
      return await plain.set(key, bytes);
    case "delete":
      await view.delete(key);
      return await plain.delete(key);
    case "read":
      assertEquals(await view.get(key), await plain.get(key));
      return assertEquals(
        await readAll(await view.stream(key)),
        await plain.get(key),
      );
    case "attributes": {
      const document: StoreKey = `/${path && `${path}/`}zarr.json`;
      const { attributes: _, ...metadata } = await readJson(view, document);
      const attributes = { count: bytes.length };
      await view.set(document, encodeJson({ ...metadata, attributes }));
      assertEquals((await readJson(view, document)).attributes, attributes);
    }
  }
}

/** All documents, without the members that operations change. */
async function storedDocuments({ arrays }: Hierarchy, stored: MemoryStore) {
  const documents = arrays.map(async ({ path }) => {
    const document: StoreKey = `/${path && `${path}/`}zarr.json`;
    return { ...await readJson(stored, document), attributes: undefined };
  });
  return await Promise.all(documents);
}

/** The expected contents of a store with the chunks of the oracle. */
async function storedChunks(
  { arrays, others }: Hierarchy,
  stored: MemoryStore,
  plain: MemoryStore,
) {
  const expected = new MemoryStore();
  for (const key of others) await expected.set(key, utf8(key));
  for (const array of arrays) {
    const chunks = await openArrayChunks(stored, array.path);
    const plainChunks = new ArrayChunks(plain, array.path, array.plain);
    const within = new ArrayChunks(expected, array.path, array.stored);
    for await (const coordinates of plainChunks.list()) {
      const bytes = (await plainChunks.get(coordinates))!;
      assertEquals(await chunks.get(coordinates), bytes);
      await within.set(coordinates, bytes);
    }
  }
  return await chunksIn(expected);
}

async function chunksIn(store: MemoryStore) {
  return Object.entries(await contentsOf(store))
    .filter(([key]) => !key.endsWith("/zarr.json"));
}

Deno.test("plainView cancels a stream that it cannot store", async () => {
  const { stored } = await arrayInParts("a");
  const before = await contentsOf(stored);
  const view = plainView(observed(stored, ({ key }) => {
    if (key === "/broken/zarr.json") throw new Error("no network");
  }));
  const signal = AbortSignal.abort(new Error("never mind"));
  const cases: [StoreKey, string, AbortSignal?][] = [
    ["/broken/c/0", "no network"],
    ["/a/c/9/9", "outside the chunk grid"],
    ["/a//c", "empty segment"],
    ["/a/c/0/0", "never mind", signal],
    ["/a/zarr.json", "never mind", signal],
  ];
  for (const [key, message, signal] of cases) {
    let cancelled: unknown;
    const source = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(utf8("x")),
      cancel: (reason) => void (cancelled = reason),
    });
    const error = await assertRejects(
      () => view.set!(key, source, signal ? { signal } : {}),
      Error,
      message,
    );
    assertEquals(cancelled, error, key);
  }
  assertEquals(await contentsOf(stored), before);
});
