import { assertEquals, assertRejects } from "@std/assert";
import * as zarr from "zarrita";
import {
  createArrayChunks,
  encodeShard,
  MemoryStore,
  openArrayChunks,
  type Store,
} from "../../mod.ts";
import { registerCodecs, setSharded, withZarrParts } from "../../zarrita.ts";
import { encodeJson, groupMetadata, readJson } from "../support/documents.ts";
import { withoutVersions } from "../support/without_versions.ts";
import {
  layoutOf,
  numbers,
  openIn,
  readAnew,
  row,
  shardedMetadata,
  shardedStore,
  sharding,
} from "./sharded_array.ts";

registerCodecs(zarr.registry);

const STORES: Record<string, (stored: MemoryStore) => Store> = {
  "a store with versions": (stored) => stored,
  "a store without versions": withoutVersions,
};

/** Replaces the first shard by one with its inner chunks elsewhere, as another program does. */
async function replaceShard(
  store: Store,
  elements: number[],
  length: number,
  path = "",
): Promise<void> {
  const chunks = await openArrayChunks(store, path);
  const inner = [elements.slice(0, 2), elements.slice(2)]
    .map((it) => Uint8Array.from(it));
  const prefix = new Uint8Array(length).fill(200);
  const layout = layoutOf(chunks.metadata);
  await chunks.set([0], encodeShard(inner, layout, { prefix }));
}

for (const [name, open] of Object.entries(STORES)) {
  Deno.test(`zarr.set and setSharded change inner chunks in their present state, in ${name}`, async () => {
    for (const way of ["set", "setSharded"] as const) {
      const stored = await shardedStore();
      const array = await openIn(open(stored));
      for (let length = 1; length < 9; length++) {
        await zarr.get(array, [zarr.slice(12)], {}); // By the old index.
        await replaceShard(stored, [20, 21, 22, length], length);
        const at = length % 4;
        if (way === "set") await zarr.set(array, [at], 99);
        else await setSharded(zarr, array, [at], 99);
        const expected = [20, 21, 22, length].with(at, 99);
        assertEquals((await readAnew(stored)).slice(0, 4), expected);
      }
    }
  });

  Deno.test(`setSharded keeps what was appended to a covered shard since the array was opened, in ${name}`, async () => {
    for (const isSameWrapper of [false, true]) {
      const stored = new MemoryStore();
      const store = open(stored);
      const metadata = shardedMetadata({ shape: [9] });
      await createArrayChunks(store, "", metadata);
      const array = await openIn(store);
      await setSharded(zarr, array, null, 1);
      await stored.set("/zarr.json", encodeJson({ ...metadata, shape: [12] }));
      const others = isSameWrapper
        ? await zarr.open(array.store, { kind: "array" })
        : await openIn(store);
      await zarr.set(others, [zarr.slice(9, 12)], 2 as never);
      await setSharded(zarr, array, null, 3);
      const expected = [...Array(9).fill(3), 2, 2, 2];
      assertEquals(await readAnew(stored), expected);
    }
  });

  Deno.test(`setSharded refuses an array that was created again with other inner chunks, in ${name}`, async () => {
    const stored = await shardedStore();
    const store = open(stored);
    const array = await openIn(store);
    const metadata = shardedMetadata({ codecs: [sharding({ inner: [1] })] });
    await stored.set("/zarr.json", encodeJson(metadata));
    const before = await stored.get("/c/0");
    await assertRejects(
      () => setSharded(zarr, array, null, 5),
      TypeError,
      "open the array again",
    );
    assertEquals(await stored.get("/c/0"), before);
  });

  Deno.test(`withZarrParts reads the present shards of an array that is opened again through any layer, in ${name}`, async () => {
    const array = await shardedStore();
    const stored = new MemoryStore();
    for await (const key of array.list()) {
      await stored.set(`/a${key}`, (await array.get(key))!);
    }
    const nodes = { a: await readJson(stored, "/a/zarr.json") };
    await stored.set("/zarr.json", encodeJson(groupMetadata(nodes)));
    const isDocument = (path: string) => path.endsWith("zarr.json");
    const wrapped = withZarrParts(open(stored));
    const layers: zarr.AsyncReadable[] = [
      wrapped,
      await zarr.withConsolidatedMetadata(wrapped, { format: "v3" }),
      zarr.withByteCaching(wrapped, {
        keyFor: (path) => isDocument(path) ? path : undefined,
      }),
      zarr.withRangeCoalescing(
        await zarr.withConsolidatedMetadata(wrapped, { format: "v3" }),
      ),
    ];
    for (const [i, layer] of layers.entries()) {
      for (let length = 1; length < 4; length++) {
        await replaceShard(stored, [i, length, 7, 8], 4 * i + length, "/a");
        const root = zarr.root(layer).resolve("a");
        const opened = await zarr.open(root, { kind: "array" });
        const { data } = await zarr.get(opened, [zarr.slice(4)]);
        assertEquals(Array.from(data as Uint8Array), [i, length, 7, 8]);
      }
    }
    // The document may have changed as well, and with it the layer.
    const keys = { name: "suffix", configuration: { suffix: ".tiff" } };
    const document = { ...nodes.a, chunk_key_encoding: keys };
    await stored.set("/a/zarr.json", encodeJson(document));
    await stored.set("/a/c/0.tiff", (await array.get("/c/0"))!);
    const anew = await zarr.withConsolidatedMetadata(wrapped, { format: "v3" });
    for (const layer of [anew, layers[1]!]) {
      const opened = await zarr.open(zarr.root(layer).resolve("a"), {
        kind: "array",
      });
      const { data } = await zarr.get(opened, [zarr.slice(4)]);
      assertEquals(Array.from(data as Uint8Array), numbers(4));
    }
  });
}

Deno.test("withZarrParts forgets the index of a shard also if the store fails after it has changed the shard", async () => {
  for (const way of ["set", "setSharded"] as const) {
    const stored = await shardedStore();
    let fails = false;
    const array = await openIn({
      ...withoutVersions(stored),
      async set(key, value) {
        await stored.set(key, value);
        if (fails) throw new Error("No answer");
      },
    });
    assertEquals(Array.from((await zarr.get(array)).data), numbers(12));
    fails = true;
    await assertRejects(
      () =>
        way === "set"
          ? zarr.set(array, [zarr.slice(0, 2)], 50)
          : setSharded(zarr, array, [zarr.slice(0, 2)], row(50, 50), {
            prefix: new Uint8Array(5),
          }),
      Error,
      "No answer",
    );
    const { data } = await zarr.get(array);
    assertEquals(Array.from(data), numbers(12, { 0: 50, 1: 50 }));
  }
});
