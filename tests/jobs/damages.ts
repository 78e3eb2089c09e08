import { convert, type Rule } from "../../jobs.ts";
import {
  arrayMetadata,
  createArrayChunks,
  encodeShard,
  MemoryStore,
  parseShardLayout,
  type Store,
  type StoreKey,
} from "../../mod.ts";
import { appendChecksum } from "../../src/checksum/crc32c.ts";
import { countingBytes } from "../support/bytes.ts";
import {
  encodeJson,
  groupMetadata,
  readJson,
  utf8,
} from "../support/documents.ts";
import { checksummed, checksummedMetadata } from "./checksummed.ts";

export const SIZE = 300;
/** A group of arrays of many kinds, all of them whole. */
export async function example(): Promise<MemoryStore> {
  const plain = new MemoryStore();
  await checksummed(plain, SIZE);
  const store = new MemoryStore();
  await convert(plain, { store, path: "parts" }, {
    suffix: ".s",
    parts: [".head:3", "", ".index", ".crc32c"],
  });
  await store.set("/readme.txt", utf8("Arrays"));
  const start = checksummedMetadata("start");
  await checksummed(store, SIZE, "start", start);
  const raw = await createArrayChunks(
    store,
    "raw",
    arrayMetadata({
      shape: [3, 3],
      dataType: "uint16",
      chunkShape: [2, 2],
      suffix: ".raw",
      parts: [".a:2", ""],
    }),
  );
  await raw.set([1, 0], new Uint8Array(8));
  for (
    const [name, format] of [["gzip", "gzip"], ["zlib", "deflate"]] as const
  ) {
    const codec = name === "gzip"
      ? "gzip"
      : { name: "numcodecs.zlib", configuration: { level: 1 } };
    const metadata = arrayMetadata({
      shape: [100],
      dataType: "uint8",
      chunkShape: [100],
    });
    const chunks = await createArrayChunks(store, name, {
      ...metadata,
      codecs: [{ name: "bytes" }, codec, { name: "crc32c" }],
    });
    const bytes = await deflated(countingBytes(100), format);
    await chunks.set([0], appendChecksum(bytes));
  }
  // Shards whose inner chunks have checksums, one of them in nested shards.
  const inner = arrayMetadata({
    shape: [8],
    dataType: "uint8",
    shardShape: [4],
    chunkShape: [2],
    codecs: ["crc32c"],
  });
  const shards = await createArrayChunks(store, "inner", inner);
  const layout = parseShardLayout(inner.codecs[0], [4]);
  const shard = encodeShard(
    [appendChecksum(Uint8Array.of(1, 2)), appendChecksum(Uint8Array.of(3, 4))],
    layout,
  );
  await shards.set([0], shard);
  const nested = await createArrayChunks(store, "nested", {
    ...inner,
    chunk_grid: { name: "regular", configuration: { chunk_shape: [8] } },
    codecs: [{
      name: "sharding_indexed",
      configuration: {
        chunk_shape: [4],
        codecs: [...inner.codecs, { name: "crc32c" }],
        index_codecs: [{ name: "bytes", configuration: { endian: "little" } }],
      },
    }],
  });
  const outer = parseShardLayout(nested.metadata.codecs[0], [8]);
  await nested.set([0], encodeShard([undefined, appendChecksum(shard)], outer));
  const nodes: Record<string, unknown> = {};
  for (
    const path of ["parts", "start", "raw", "gzip", "zlib", "inner", "nested"]
  ) {
    nodes[path] = await readJson(store, `/${path}/zarr.json`);
  }
  await store.set("/zarr.json", encodeJson(groupMetadata(nodes)));
  return store;
}

async function deflated(bytes: Uint8Array, format: "gzip" | "deflate") {
  const stream = new Blob([bytes as BlobPart]).stream()
    .pipeThrough(new CompressionStream(format));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

const edit =
  (key: StoreKey, change: (bytes: Uint8Array) => Uint8Array | void) =>
  async (store: Store) => {
    const bytes = (await store.get(key))!;
    await store.set!(key, change(bytes) ?? bytes);
  };
const flip = (key: StoreKey, place: number) =>
  edit(key, (bytes) => {
    bytes[place < 0 ? bytes.length + place : place]! ^= 1;
  });
const cut = (key: StoreKey) => edit(key, (bytes) => bytes.slice(0, -1));
const remove = (key: StoreKey) => (store: Store) => store.delete!(key);
const add =
  (key: StoreKey, bytes: Uint8Array = new Uint8Array(9)) => (store: Store) =>
    store.set!(key, bytes);

/** Writes an index without a checksum over that of the nested shard. */
const nestedIndex = (numbers: readonly number[]) =>
  edit("/nested/c/0", (bytes) => {
    const view = new DataView(bytes.buffer, bytes.length - 32);
    numbers.forEach((n, i) => view.setBigUint64(8 * i, BigInt(n), true));
  });

/** A damage, and the findings: rule and key. */
interface Damage {
  damage: (store: Store) => unknown;
  found: [Rule, string][];
  /** Whether it is only found by a deep verification, or by a listing. */
  needs?: "deep" | "list";
  /** Findings that a listing adds. */
  listed?: [Rule, string][];
}

/** Values that are added, each of which a listing finds. */
const ADDED: [name: string, key: StoreKey, rule: Rule][] = [
  ["a chunk with the key of another encoding", "/raw/0.1", "chunk-misplaced"],
  ["a chunk with another suffix", "/raw/c/1/1.tif", "chunk-misplaced"],
  [
    "a chunk with another suffix, beside the chunk",
    "/raw/c/1/0.tif",
    "unknown-file",
  ],
  ["a file beside an absent chunk", "/raw/c/0/1.raw.xml", "unknown-file"],
  [
    "a chunk with the key of another encoding outside of the grid",
    "/raw/2.0",
    "unknown-file",
  ],
  ["a chunk in a group", "/c/0", "values-unexplained"],
  [
    "an unfinished conversion",
    "/raw/.zarr-parts-unfinished.json",
    "conversion-unfinished",
  ],
  ["a chunk outside of the grid", "/raw/c/2/0.raw", "chunk-outside-grid"],
  ["a part outside of the grid", "/parts/c/0/3.s.index", "chunk-outside-grid"],
  ["a file in an array", "/raw/notes.txt", "unknown-file"],
];

export const DAMAGES: Record<string, Damage> = {
  "a bit of a header": {
    damage: flip("/parts/c/0/0.s.head", 0),
    found: [["chunk-checksum", "/parts/c/0/0.s"]],
  },
  "a bit of the data": {
    damage: flip("/parts/c/1/2.s", 5),
    found: [["chunk-checksum", "/parts/c/1/2.s"]],
  },
  "a bit of a stored checksum": {
    damage: flip("/parts/c/1/2.s.crc32c", 1),
    found: [["chunk-checksum", "/parts/c/1/2.s"]],
  },
  "a lost part": {
    damage: remove("/parts/c/0/0.s.index"),
    found: [["part-missing", "/parts/c/0/0.s"]],
  },
  "a lost data part": {
    damage: remove("/parts/c/0/0.s"),
    found: [["part-missing", "/parts/c/0/0.s"]],
  },
  "a short part": {
    damage: cut("/parts/c/1/0.s.index"),
    found: [["part-size", "/parts/c/1/0.s.index"]],
  },
  "a short data part": {
    damage: cut("/parts/c/1/0.s"),
    found: [["chunk-checksum", "/parts/c/1/0.s"]],
  },
  "a short raw chunk": {
    damage: cut("/raw/c/1/0.raw"),
    found: [["chunk-size", "/raw/c/1/0.raw"]],
  },
  "a shard shorter than its index": {
    damage: edit("/inner/c/0", (bytes) => bytes.slice(0, 35)),
    found: [["chunk-size", "/inner/c/0"]],
  },
  "a shard without bytes": {
    damage: edit("/inner/c/0", () => new Uint8Array()),
    found: [["chunk-size", "/inner/c/0"]],
  },
  "a chunk shorter than a checksum": {
    damage: edit("/gzip/c/0", () => new Uint8Array(3)),
    found: [["chunk-size", "/gzip/c/0"]],
  },
  "a bit of an index": {
    damage: flip("/inner/c/0", -20),
    found: [["index-checksum", "/inner/c/0"]],
  },
  "inner chunks over one another": {
    damage: nestedIndex([0, 30, 29, 20]),
    found: [["index-extents", "/nested/c/0"]],
  },
  "an inner chunk outside of the shard": {
    damage: nestedIndex([9, 1000]),
    found: [["index-extents", "/nested/c/0"]],
  },
  "an inner chunk past 2^53": {
    damage: nestedIndex([2 ** 53, 9]),
    found: [["index-extents", "/nested/c/0"]],
  },
  "an inner chunk in the index": {
    damage: nestedIndex([0, 60]),
    found: [["index-extents", "/nested/c/0"]],
  },
  "a bit of an inner chunk": {
    damage: flip("/inner/c/0", 7),
    found: [["inner-chunk-checksum", "/inner/c/0"]],
    needs: "deep",
  },
  "a bit of a nested shard": {
    damage: flip("/nested/c/0", 0),
    found: [["inner-chunk-checksum", "/nested/c/0"]],
    needs: "deep",
  },
  "a bit of the checksum of a nested shard": {
    damage: flip("/nested/c/0", -33),
    found: [["inner-chunk-checksum", "/nested/c/0"]],
    needs: "deep",
  },
  "gzip data of another length": {
    damage: async (store: Store) =>
      await store.set!(
        "/gzip/c/0",
        appendChecksum(await deflated(countingBytes(99), "gzip")),
      ),
    found: [["chunk-decoding", "/gzip/c/0"]],
    needs: "deep",
  },
  "zlib data that is none": {
    damage: add("/zlib/c/0", appendChecksum(new Uint8Array(30))),
    found: [["chunk-decoding", "/zlib/c/0"]],
    needs: "deep",
  },
  "a document that is no JSON": {
    damage: add("/raw/zarr.json", utf8("{")),
    found: [["metadata-invalid", "/raw/zarr.json"]],
    listed: [["values-unexplained", "/raw/c/1/0.raw"]],
  },
  "a document of another array": {
    damage: async (store: Store) => {
      const { chunk_grid: _, ...rest } = await readJson(
        store,
        "/raw/zarr.json",
      );
      await store.set!("/raw/zarr.json", encodeJson(rest));
    },
    found: [["metadata-invalid", "/raw/zarr.json"]],
    listed: [["values-unexplained", "/raw/c/1/0.raw"]],
  },
  "chunks without a document": {
    damage: async (store: Store) => {
      await store.set!("/lost/c/0/1.tif", new Uint8Array(8));
      await store.set!("/lost/c/0/0.tif", new Uint8Array(8));
    },
    found: [["values-unexplained", "/lost/c/0/0.tif"]],
    needs: "list",
  },
  "a part of an absent chunk": {
    damage: add("/raw/c/0/0.raw.a", new Uint8Array(2)),
    found: [["part-missing", "/raw/c/0/0.raw"]],
  },
  ...Object.fromEntries(
    ADDED.map(([name, key, rule]): [string, Damage] => [
      name,
      { damage: add(key), found: [[rule, key]], needs: "list" },
    ]),
  ),
};
