import { assert, assertEquals, assertInstanceOf } from "@std/assert";
import * as zarr from "zarrita";
import {
  ChecksumError,
  encodeShard,
  MemoryStore,
  type Store,
} from "../../mod.ts";
import { registerCodecs, setSharded, withZarrParts } from "../../zarrita.ts";
import { type Loopback, serve, storeHandler } from "../stores/loopback.ts";
import { countingBytes } from "../support/bytes.ts";
import { encodeJson, groupMetadata, readJson } from "../support/documents.ts";
import { IN_PARTS } from "../support/in_parts.ts";
import { arrayMetadata } from "../support/metadata.ts";
import {
  layoutOf,
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

registerCodecs(zarr.registry);

const CODECS = {
  crc32c: ["bytes", "crc32c"],
  zstd: ["bytes", { name: "zstd" }],
  gzip: ["bytes", { name: "gzip", configuration: { level: 1 } }],
};

/** An array in which every chunk is garbage, and the key of a chunk. */
async function garbage(
  codecs: unknown[],
  kind: "in shards" | "in parts" | "plain",
): Promise<{ stored: MemoryStore; key: string }> {
  const stored = new MemoryStore();
  if (kind === "in shards") {
    const metadata = shardedMetadata({}, { codecs });
    await stored.set("/a/zarr.json", encodeJson(metadata));
    const chunks = [undefined, countingBytes(20, 1)];
    await stored.set("/a/c/1", encodeShard(chunks, layoutOf(metadata)));
    return { stored, key: "/a/c/1" };
  }
  const metadata = arrayMetadata({
    shape: [12],
    chunk_grid: { name: "regular", configuration: { chunk_shape: [2] } },
    codecs,
    ...kind === "in parts" && IN_PARTS,
  });
  await stored.set("/a/zarr.json", encodeJson(metadata));
  const name = kind === "in parts" ? "/a/c/3.bin" : "/a/c/3";
  await stored.set(name as "/", countingBytes(18, 1));
  if (kind === "in parts") await stored.set("/a/c/3.bin.crc", countingBytes(2));
  else await stored.set(name as "/", countingBytes(20, 1));
  return { stored, key: name };
}

async function failure(
  reading: Promise<unknown>,
): Promise<zarr.CodecPipelineError> {
  const error = await reading.then(
    () => new Error("Garbage was read"),
    (error) => error,
  );
  assertInstanceOf(error, zarr.CodecPipelineError);
  return error;
}

for (const [name, codecs] of Object.entries(CODECS)) {
  for (const kind of ["in shards", "in parts", "plain"] as const) {
    Deno.test(`zarr.get names the chunk that ${name} could not decode, for an array ${kind}`, async () => {
      const { stored, key } = await garbage(codecs, kind);
      const root = zarr.root(withZarrParts(stored)).resolve("a");
      const array = await zarr.open(root, { kind: "array" });
      for (
        const read of [
          () => zarr.get(array),
          () => zarr.get(array, [6]),
          () => array.getChunk([3]),
          () => array.getChunk([3], { signal: new AbortController().signal }),
        ]
      ) {
        const error = await failure(read());
        assertEquals(error.codec, name);
        assertEquals(error.direction, "decode");
        assertEquals(error.chunkPath, key);
        assertEquals(
          error.message,
          `Failed to decode chunk via codec "${name}" at ${key}`,
        );
        assert(error.stack!.includes(error.message));
        if (name !== "crc32c") continue;
        assertInstanceOf(error.cause, ChecksumError);
        assertEquals(error.cause.key, key);
      }
      const write = zarr.set(array as never, [6], 1 as never);
      assertEquals((await failure(write)).chunkPath, key);
    });
  }
}
