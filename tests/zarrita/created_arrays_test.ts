import { assertEquals } from "@std/assert";
import * as zarr from "zarrita";
import { MemoryStore } from "../../mod.ts";
import { registerCodecs, setSharded, withZarrParts } from "../../zarrita.ts";
import { encodeJson, readJson } from "../support/documents.ts";
import { arrayMetadata } from "../support/metadata.ts";
import {
  numbers,
  readAnew,
  row,
  shardedMetadata,
  sharding,
} from "./sharded_array.ts";

registerCodecs(zarr.registry);

Deno.test("withZarrParts stores the documents of zarr.create, for new and existing nodes", async () => {
  for (
    const before of [
      undefined,
      arrayMetadata(),
      shardedMetadata({ shape: [9], codecs: [sharding({ codecs: ["zstd"] })] }),
    ]
  ) {
    for (
      const codecs of [[{ name: "bytes", configuration: {} }], [sharding()]]
    ) {
      const stored = new MemoryStore();
      if (before) await stored.set("/zarr.json", encodeJson(before));
      const store = withZarrParts(stored);
      await store.get("/c/0").catch(() => {}); // The wrapper knows the earlier document.
      await zarr.create(store, {
        shape: [12],
        chunkShape: [4],
        dtype: "uint8",
        fillValue: 0,
        attributes: { a: 1 },
        codecs: codecs as never,
      });
      const { chunk_grid, codecs: kept, attributes } = await readJson(
        stored,
        "/zarr.json",
      );
      assertEquals(chunk_grid.configuration, { chunk_shape: [4] });
      assertEquals(kept[0].name, codecs[0]!.name);
      assertEquals(attributes, { a: 1 });

      const array = await zarr.open(store, { kind: "array" });
      const isSharded = codecs[0]!.name === "sharding_indexed";
      assertEquals(array.chunks, [isSharded ? 2 : 4]);
      const value = row(...numbers(12));
      await (isSharded
        ? setSharded(zarr, array, null, value)
        : zarr.set(array, null, value));
      assertEquals(await readAnew(stored), numbers(12));
    }
  }
});

Deno.test("zarr.get of a sharded array from zarr.create reads no wrong elements", async () => {
  const store = withZarrParts(new MemoryStore());
  const created = await zarr.create(store, {
    shape: [64],
    chunkShape: [64],
    dtype: "uint8",
    fillValue: 0,
    codecs: [sharding({
      inner: [32],
      hasChecksum: false,
      codecs: [
        { name: "bytes", configuration: {} },
      ],
    })] as never,
  });
  // Elements that could be the index of a shard.
  const elements = numbers(64).map((n, i) => i % 8 > 0 ? 0 : n < 33 ? 24 : 16);
  const array = await zarr.open(store, { kind: "array" });
  await setSharded(zarr, array, null, row(...elements));
  const read = await zarr.get(created).then(
    ({ data }) => Array.from(data as Uint8Array),
    () => elements,
  );
  assertEquals(read, elements);
});

Deno.test("withZarrParts stores the key encoding of zarr.create, for any earlier node", async () => {
  for (const codecs of [["bytes"], [{ name: "bytes" }], [sharding()]]) {
    for (const chunk_key_encoding of ["default", { name: "default" }, "v2"]) {
      const stored = new MemoryStore();
      const before = shardedMetadata({ codecs, chunk_key_encoding });
      await stored.set("/zarr.json", encodeJson(before));
      const store = withZarrParts(stored);
      const created = await zarr.create(store, {
        shape: [12],
        chunkShape: [4],
        dtype: "uint8",
        fillValue: 0,
        chunkSeparator: ".",
        codecs: [{ name: "bytes", configuration: {} }],
      });
      await zarr.set(created, null, row(...numbers(12)));
      assertEquals(await readAnew(stored), numbers(12));
    }
  }
});
