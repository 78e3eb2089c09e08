import { assertEquals } from "@std/assert";
import * as zarr from "zarrita";
import {
  encodeShard,
  MemoryStore,
  parseShardLayout,
  type Store,
} from "../../mod.ts";
import { LEAST_BYTES } from "../../src/zarrita/get_sharded.ts";
import { getSharded, withZarrParts } from "../../zarrita.ts";
import { encodeJson, utf8, v2Metadata } from "../support/documents.ts";
import { arrayMetadata } from "../support/metadata.ts";
import { countedPool, withPool } from "../threads/counted_pool.ts";
import { sharding } from "./sharded_array.ts";
import {
  assertSameRead,
  documentOf,
  named,
  openArray,
  storeArray,
  type Stored,
} from "./threaded_array.ts";

LEAST_BYTES.toStart = 0;
LEAST_BYTES.toUse = 0;

const BYTES = named("bytes", { endian: "little" });
const GZIP = named("gzip", { level: 1 });

type Pool = ReturnType<typeof countedPool>;

/** Compares reads of an array with those of zarrita; returns the number of chunks that threads decoded. */
async function compare(
  { threads, counts }: Pool,
  array: object,
  selections: readonly unknown[] = [null],
): Promise<number> {
  const before = counts.done;
  for (const selection of selections) {
    for (const shared of [undefined, false]) {
      const options = { threads, shared };
      assertSameRead(
        await getSharded(zarr, array as never, selection as never, options),
        await zarr.get(array as never, selection as never),
      );
    }
  }
  assertEquals(counts.failures, []);
  return counts.done - before;
}

const SELECTIONS = [
  null,
  [zarr.slice(1, 5), null],
  [zarr.slice(0, 6, 2), -1],
  [2, zarr.slice(1, 3)],
  [-3, 0],
];

async function compressed(bytes: Uint8Array): Promise<Uint8Array> {
  const stream = new Blob([bytes as Uint8Array<ArrayBuffer>]).stream()
    .pipeThrough(new CompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

Deno.test("getSharded reads texts of any length in the calling thread", () =>
  withPool(countedPool({ threads: 2 }), async (pool) => {
    const texts = ["a", "", "é", "日本", "x".repeat(300), "🙂"];
    const chunk = (first: number) => {
      const all = [0, 1, 2, 3].map((i) => utf8(texts[(first + i) % 6]!));
      const bytes = new Uint8Array(
        4 + all.reduce((sum, { length }) => sum + 4 + length, 0),
      );
      const view = new DataView(bytes.buffer);
      view.setUint32(0, 4, true);
      let at = 4;
      for (const text of all) {
        view.setUint32(at, text.length, true);
        bytes.set(text, at + 4);
        at += 4 + text.length;
      }
      return bytes;
    };
    const store = new MemoryStore();
    await store.set(
      "/zarr.json",
      encodeJson(arrayMetadata({
        shape: [6, 4],
        data_type: "string",
        chunk_grid: { name: "regular", configuration: { chunk_shape: [2, 2] } },
        fill_value: "none",
        codecs: [named("vlen-utf8"), GZIP],
      })),
    );
    for (const [i, key] of ["0/0", "0/1", "1/0", "2/1"].entries()) {
      await store.set(`/c/${key}`, await compressed(chunk(i)));
    }
    assertEquals(await compare(pool, await openArray(store), SELECTIONS), 0);
  }));

Deno.test("getSharded reads arrays of Zarr v2, of numbers and of texts of a fixed length", () =>
  withPool(countedPool({ threads: 2 }), async (pool) => {
    const types: [type: string, size: number, fill: unknown][] = [
      ["<i2", 2, 7],
      [">f8", 8, "NaN"],
      ["|b1", 1, true],
      ["|u1", 1, null],
      ["<u8", 8, 5],
      ["<U3", 12, ""],
      [">U2", 8, "é"],
      ["|S5", 5, "ab"],
      ["<f2", 2, -1],
    ];
    for (const [dtype, size, fill] of types) {
      for (const order of ["C", "F"]) {
        const store = new MemoryStore();
        await store.set(
          "/.zarray",
          encodeJson(v2Metadata({
            shape: [6, 4],
            chunks: [2, 3],
            dtype,
            fill_value: fill,
            order,
            compressor: { id: "gzip", level: 1 },
          })),
        );
        for (const key of ["0.0", "0.1", "2.0"]) {
          const bytes = Uint8Array.from(
            { length: 6 * size },
            (_, i) => /U/.test(dtype) ? (i % 4 === 0 ? 65 + i : 0) : 33 + i,
          );
          if (dtype.startsWith(">U")) bytes.reverse();
          await store.set(`/${key}`, await compressed(bytes));
        }
        const root = zarr.root(withZarrParts(store as Store) as zarr.Readable);
        const array = await zarr.open.v2(root, { kind: "array" });
        assertEquals(await compare(pool, array, SELECTIONS), 0, dtype);
      }
    }
  }));

Deno.test("getSharded reads chunks at the end of the array that lack the rows outside of it", () =>
  withPool(countedPool({ threads: 2 }), async (pool) => {
    const columns = 3;
    const codecs = {
      zlib: [BYTES, named("zlib", { level: 1 })],
      zstd: [BYTES, named("zstd", { level: 1, checksum: true })],
      lzw: [BYTES, named("imagecodecs_lzw")],
      packbits: [BYTES, named("imagecodecs_packbits")],
      delta: [
        named("imagecodecs_delta"),
        BYTES,
        named("imagecodecs_deflate"),
      ],
    };
    const wraps = {
      plain: withZarrParts,
      cached: (store: Store) =>
        zarr.extendStore(
          store as never,
          withZarrParts as never,
          zarr.withByteCaching as never,
        ) as object,
    };
    for (const [name, used] of Object.entries(codecs)) {
      for (const height of [1, 2, 3]) {
        const array = (rows: number, chunk: number): Stored => ({
          shape: [rows, columns],
          dataType: "int16",
          chunkShapes: [[8, columns], [chunk, columns]],
          codecs: used,
        });
        const layout = parseShardLayout(
          sharding({ inner: [4, columns] }),
          [8, columns],
        );
        const chunkOf = async (rows: number, seed: number) => {
          const { shape, ...plain } = array(rows, rows);
          const stored = await storeArray({
            ...plain,
            shape,
            chunkShapes: [[rows, columns]],
          }, { seed });
          return (await stored.get("/c/0/0"))!;
        };
        const store = new MemoryStore();
        await store.set("/zarr.json", documentOf(array(12 + height, 4)));
        for (const shard of [0, 1]) {
          const rows = shard === 0 ? 4 : height;
          const chunks = [await chunkOf(4, shard), await chunkOf(rows, 7)];
          await store.set(`/c/${shard}/0`, encodeShard(chunks, layout));
        }
        for (const wrap of Object.values(wraps)) {
          const opened = await openArray(store, "", wrap);
          const done = await compare(pool, opened, [
            null,
            [zarr.slice(9, null), null],
          ]);
          assertEquals(done, 2 * (4 + 2), name);
        }
      }
    }
  }));

const STORED: Stored = {
  shape: [6, 4],
  dataType: "int64",
  chunkShapes: [[4, 4], [2, 2]],
  codecs: [BYTES, GZIP],
};

Deno.test("getSharded reads by the getChunk of an array extension", async () => {
  const store = await storeArray(STORED);
  let calls = 0;
  const array = await openArray(store);
  const extend = zarr.defineArrayExtension((inner) => ({
    async getChunk(...args: Parameters<typeof inner.getChunk>) {
      calls++;
      const chunk = await inner.getChunk(...args);
      const data = chunk.data as BigInt64Array;
      return { ...chunk, data: data.map((element) => element ^ 1n) } as never;
    },
  }));
  const extended = extend(array as never);
  const { threads, counts } = countedPool({ threads: 1 });
  try {
    const found = await getSharded(zarr, extended as never, null, { threads });
    assertEquals(calls, 6);
    assertEquals(counts.jobs, 0);
    assertSameRead(found, await zarr.get(extended as never));
    const { data } = found as unknown as { data: BigInt64Array };
    const plain = await zarr.get(array as never) as unknown as {
      data: BigInt64Array;
    };
    assertEquals(data, plain.data.map((element) => element ^ 1n));
  } finally {
    threads[Symbol.dispose]();
  }
});
