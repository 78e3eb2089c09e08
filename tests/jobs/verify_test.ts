import { assert, assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import {
  arrayMetadata,
  createArrayChunks,
  encodeShard,
  FileSystemStore,
  MemoryStore,
  MetadataError,
  parseShardLayout,
  type Store,
  type StoreKey,
} from "../../mod.ts";
import { convert, type Rule, verify } from "../../src/jobs/mod.ts";
import { appendChecksum } from "../../src/checksum/stored_checksum.ts";
import { journalName } from "../../src/stores/file_system/path.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { countingBytes } from "../support/bytes.ts";
import {
  encodeJson,
  groupMetadata,
  readJson,
  utf8,
} from "../support/documents.ts";
import { anyHierarchy, storedAndPlain } from "../support/hierarchy.ts";
import { observed } from "../support/observed_store.ts";
import { checksummed, checksummedMetadata } from "./checksummed.ts";

const SIZE = 300;
/** Stores that cannot list. */
const BLIND: (keyof Store)[] = ["get", "getRange", "stream", "size", "group"];

/** A group of arrays of many kinds, all of them whole. */
async function example(): Promise<MemoryStore> {
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

/** Each damage, and the findings: rule and key. */
const DAMAGES: Record<
  string,
  {
    damage: (store: Store) => unknown;
    found: [Rule, string][];
    /** Whether it is only found by a deep verification, or by a listing. */
    needs?: "deep" | "list";
  }
> = {
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
  },
  "an unfinished conversion": {
    damage: add("/raw/.zarr-parts-unfinished.json"),
    found: [["conversion-unfinished", "/raw/.zarr-parts-unfinished.json"]],
    needs: "list",
  },
  "a chunk outside of the grid": {
    damage: add("/raw/c/2/0.raw"),
    found: [["chunk-outside-grid", "/raw/c/2/0.raw"]],
    needs: "list",
  },
  "a part outside of the grid": {
    damage: add("/parts/c/0/3.s.index"),
    found: [["chunk-outside-grid", "/parts/c/0/3.s.index"]],
    needs: "list",
  },
  "a file in an array": {
    damage: add("/raw/notes.txt"),
    found: [["unknown-file", "/raw/notes.txt"]],
    needs: "list",
  },
  "a part of an absent chunk": {
    damage: add("/raw/c/0/0.raw.a", new Uint8Array(2)),
    found: [["part-missing", "/raw/c/0/0.raw"]],
  },
};

Deno.test("verify finds nothing in whole arrays", async () => {
  const store = await example();
  for (const deep of [false, true]) {
    for (const methods of [undefined, BLIND, ["get"] as (keyof Store)[]]) {
      const seen = methods ? observed(store, () => {}, methods) : store;
      const result = await verify(seen, "", { deep });
      assertEquals(result, {
        findings: [],
        counts: {},
        chunks: 11,
        arrays: 7,
        isSound: true,
      });
    }
  }
});

Deno.test("verify finds nothing in any hierarchy but what belongs to no chunk", async () => {
  await fc.assert(
    fc.asyncProperty(
      anyHierarchy.filter(({ groups, arrays }) =>
        groups.includes("") || arrays[0]?.path === ""
      ),
      async (hierarchy) => {
        const { stored } = await storedAndPlain(hierarchy);
        const { findings } = await verify(stored, "", {});
        const rules = findings.filter(({ rule }) => rule !== "chunk-size")
          .filter(({ rule }) => rule !== "consolidated-metadata-differs");
        assertEquals(rules, []);
      },
    ),
    { numRuns: 100 },
  );
});

for (const [name, { damage, found, needs }] of Object.entries(DAMAGES)) {
  Deno.test(`verify finds ${name}`, async () => {
    const sound = await example();
    for (const deep of [false, true]) {
      for (const methods of [undefined, BLIND, ["get"] as (keyof Store)[]]) {
        const store = new MemoryStore();
        for await (const key of sound.list()) {
          await store.set(key, (await sound.get(key))!);
        }
        await damage(store);
        const seen = methods ? observed(store, () => {}, methods) : store;
        const told: unknown[] = [];
        const { findings, counts, isSound } = await verify(seen, "", {
          deep,
          onFinding: (finding) => told.push(finding),
        });
        const isFound = !(needs === "deep" && !deep) &&
          !(needs === "list" && methods !== undefined);
        const rules = findings.map((
          { rule, key },
        ): [Rule, string] => [rule, key])
          .sort();
        assertEquals(rules, isFound ? found : [], `${methods} ${deep}`);
        assertEquals(told, [...findings]);
        const sum = Object.values(counts).reduce((sum, n) => sum + n, 0);
        assertEquals(sum, findings.length);
        const errors = findings.filter(({ severity }) => severity === "error");
        assertEquals(isSound, errors.length === 0);
        for (const { message } of findings) {
          assert(/^[A-Z"].*[^.]$/s.test(message), message);
        }
      }
    }
  });
}

Deno.test("verify finds an object in the place of a chunk in parts", async () => {
  const store = new MemoryStore();
  const metadata = arrayMetadata({
    shape: [4],
    dataType: "uint8",
    chunkShape: [2],
    parts: [".a:1", ".b"],
  });
  const chunks = await createArrayChunks(store, "", metadata);
  await chunks.set([0], new Uint8Array(2));
  await store.set("/c/0", new Uint8Array(2));
  const { findings, isSound } = await verify(store);
  assertEquals(findings.map(({ rule, key }) => [rule, key]), [
    ["stray-object", "/c/0"],
  ]);
  assertEquals(isSound, true);
});

Deno.test("verify finds a chunk whose writer was killed", async () => {
  await inTempDir(async (folder) => {
    const store = new FileSystemStore(folder);
    await checksummed(store, SIZE);
    const parts = { store, path: "parts" };
    const plain = new MemoryStore();
    await checksummed(plain, SIZE);
    await convert(plain, parts, { parts: ["", ".tail:40"] });
    const journal = await journalName("2");
    await Deno.writeFile(`${folder}/parts/c/1/${journal}`, new Uint8Array(3));
    await Deno.remove(`${folder}/parts/c/1/2.tail`);
    const { findings } = await verify(store, "parts");
    assertEquals(findings.map(({ rule, key }) => [rule, key]), [
      ["chunk-unfinished", "/parts/c/1/2"],
    ]);
  });
});

Deno.test("verify finds a node that only consolidated metadata names", async () => {
  const store = await example();
  await store.delete("/raw/zarr.json");
  const blind = observed(store, () => {}, BLIND);
  for (
    const [seen, rule, key] of [
      [store, "consolidated-metadata-differs", "/zarr.json"],
      [blind, "metadata-invalid", "/raw/zarr.json"],
    ] as const
  ) {
    const { findings } = await verify(seen);
    assertEquals(findings.map(({ rule, key }) => [rule, key]), [[rule, key]]);
  }
});

Deno.test("verify shares its work", async () => {
  const sound = await example();
  const store = new MemoryStore();
  for await (const key of sound.list()) {
    await store.set(key, (await sound.get(key))!);
  }
  for (const [name, { damage, needs }] of Object.entries(DAMAGES)) {
    if (needs !== "deep" && !name.includes("document")) {
      await Promise.resolve(damage(store)).catch(() => {});
    }
  }
  const whole = await verify(store);
  assert(whole.findings.length > 10, `${whole.findings.length}`);
  for (const count of [1, 3, 16]) {
    const shares = [];
    for (let index = 0; index < count; index++) {
      const told: [number, number][] = [];
      const share = { index, count };
      shares.push(
        await verify(store, "", {
          share,
          onProgress: ({ done, total }) => told.push([done, total]),
        }),
      );
      assertEquals(told.at(-1)?.[0], told.at(-1)?.[1]);
    }
    const keys = (findings: typeof whole.findings) =>
      findings.map(({ rule, key }) => `${rule} ${key}`).sort();
    assertEquals(
      keys(shares.flatMap(({ findings }) => findings)),
      keys(whole.findings),
    );
    const chunks = shares.reduce((sum, { chunks }) => sum + chunks, 0);
    assertEquals(chunks, whole.chunks);
  }
});

Deno.test("verify keeps the first thousand findings, and counts all", async () => {
  const store = new MemoryStore();
  const metadata = arrayMetadata({
    shape: [2000],
    dataType: "uint8",
    chunkShape: [1],
  });
  const chunks = await createArrayChunks(store, "", metadata);
  for (let i = 0; i < 1500; i++) await chunks.set([i], new Uint8Array(2));
  const { findings, counts } = await verify(store);
  assertEquals([findings.length, counts], [1000, { "chunk-size": 1500 }]);
});

Deno.test("verify refuses mistakes, and ends with its signal", async () => {
  const store = await example();
  await assertRejects(
    () => verify(store, "nothing"),
    MetadataError,
    "No Zarr node",
  );
  await assertRejects(
    () => verify(store, "", { dep: true } as never),
    TypeError,
    'Unknown option "dep"',
  );
  await assertRejects(() => verify(store, "", { concurrency: 0 }), RangeError);
  const controller = new AbortController();
  const reason = new Error("Enough");
  const error = await assertRejects(() =>
    verify(store, "", {
      signal: controller.signal,
      onProgress: () => controller.abort(reason),
    })
  );
  assertEquals(error, reason);
});

Deno.test("verify fails if the store cannot be read", async () => {
  const store = await example();
  const failing = observed(store, ({ method, key }) => {
    if (method === "getRange" && key === "/inner/c/0") {
      throw new Error("Connection lost");
    }
  });
  await assertRejects(() => verify(failing), Error, "Connection lost");
});
