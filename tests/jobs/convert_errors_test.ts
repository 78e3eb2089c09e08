import { assert, assertEquals, assertRejects } from "@std/assert";
import { convert, type ConvertOptions } from "../../jobs.ts";
import {
  arrayMetadata,
  ChecksumError,
  createArrayChunks,
  DamageError,
  FileSystemStore,
  MemoryStore,
  MetadataError,
  MissingPartError,
  openArrayChunks,
  PartSizeError,
  type Store,
  type StoreKey,
} from "../../mod.ts";
import { addHash } from "../../src/jobs/convert/source_files.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { contentsOf } from "../support/bytes.ts";
import {
  encodeJson,
  groupMetadata,
  readJson,
  readText,
  utf8,
} from "../support/documents.ts";
import { observed } from "../support/observed_store.ts";
import { treeOf } from "../support/tree.ts";
import { checksummed, checksummedMetadata } from "./checksummed.ts";
import { digestsOf } from "./digests.ts";

const SMALL = 40;
const LARGE = 2 ** 21;

// deno-lint-ignore no-explicit-any -- constructors take different arguments
type ErrorClass = new (...args: any[]) => Error;

// Options

const MISTAKES: [unknown, ErrorClass, string][] = [
  [
    { sufix: ".x" },
    TypeError,
    'Unknown option "sufix" of convert; expected "suffix"',
  ],
  [{ plain: true, suffix: ".x" }, RangeError, '"plain" and "suffix"'],
  [{ metadata: {}, plain: true }, RangeError, '"metadata" and "plain"'],
  [{ resume: true, overwrite: true }, TypeError, '"resume" and "overwrite"'],
  [{ share: { index: 0, count: 1 }, finish: true }, TypeError, '"share"'],
  [{ concurrency: 0 }, RangeError, "from 1, found 0"],
  [{ concurrency: 1.5 }, RangeError, "from 1, found 1.5"],
  [{ share: { index: 3, count: 3 } }, RangeError, "index 3 and count 3"],
  [{ share: { index: -1, count: 3 } }, RangeError, "index -1"],
  [{ share: { index: 0, count: 0 } }, RangeError, "count 0"],
  [{ share: { index: 0, count: 2 ** 26 + 1 } }, RangeError, "count 67108865"],
  [{ parts: [".x", ".index"] }, RangeError, '(array "/")'],
  [{ parts: [".crc32c", ""] }, RangeError, 'the codec "crc32c"'],
  [{ parts: ["", ".x"] }, RangeError, "have no size"],
  [{ keyEncoding: "unknown" }, MetadataError, '"unknown"'],
  [{ suffix: "/" }, RangeError, ""],
  [{ suffix: ":" }, MetadataError, ""],
  ...Object.entries({
    ...{ shape: [4, 4], fill_value: 1, data_type: "int8", codecs: ["bytes"] },
  }).map(([name, value]): typeof MISTAKES[number] => [
    { metadata: { ...checksummedMetadata(), [name]: value } },
    MetadataError,
    `the ${name} of the source`,
  ]),
];

Deno.test("convert refuses options that are unknown, out of range or contradict each other, and writes nothing", async () => {
  const source = new MemoryStore();
  await checksummed(source, SMALL);
  for (const [options, ErrorClass, message] of MISTAKES) {
    const target = new MemoryStore();
    await assertRejects(
      () => convert(source, target, options as ConvertOptions),
      ErrorClass,
      message,
      JSON.stringify(options),
    );
    assertEquals(await contentsOf(target), {}, JSON.stringify(options));
  }
});

Deno.test("convert refuses what is no store or no node, and names it", async () => {
  const store = new MemoryStore();
  const target = new MemoryStore();
  await checksummed(store, SMALL, "a");
  await assertRejects(
    () => convert("x.zarr" as unknown as Store, target),
    TypeError,
    "use new FileSystemStore",
  );
  await assertRejects(
    () => convert({ store, path: "../a" }, target),
    RangeError,
    '".."',
  );
  const error = await assertRejects(
    () => convert({ store, path: "b" }, target),
    MetadataError,
  );
  assert(error.message.includes('there is a node at "/a"'), error.message);
  await assertRejects(
    () =>
      convert({ store, path: "a" }, { get: () => Promise.resolve(undefined) }),
    TypeError,
    "read-only",
  );
});

// Files at the target

Deno.test("convert refuses a target with a node, with files or with an unfinished conversion", async () => {
  const source = new MemoryStore();
  await checksummed(source, SMALL);
  const cases: [StoreKey, string][] = [
    ["/zarr.json", "a node is there already"],
    ["/x/y", 'there is "/x/y"'],
    ["/.zarr-parts-unfinished.json", "is unfinished"],
  ];
  for (const [key, message] of cases) {
    for (const dryRun of [false, true]) {
      const target = new MemoryStore([[key, utf8("{}")]]);
      await assertRejects(
        () => convert(source, target, { dryRun }),
        Error,
        message,
      );
      assertEquals(Object.keys(await contentsOf(target)), [key]);
    }
  }
});

Deno.test("convert writes beside other nodes of a store", async () => {
  const store = new MemoryStore();
  await checksummed(store, SMALL, "a");
  await convert({ store, path: "a" }, { store, path: "ab" }, { suffix: ".s" });
  const [a, b] = await Promise.all(
    ["a", "ab"].map((path) => openArrayChunks(store, path)),
  );
  assertEquals(await a!.get([1, 2]), await b!.get([1, 2]));
  assertEquals(b!.key([1, 2]), "/ab/c/1/2.s");
});

Deno.test("convert refuses a target in the source, and a source in the target", async () => {
  const store = new MemoryStore();
  await store.set("/zarr.json", encodeJson(groupMetadata()));
  await checksummed(store, SMALL, "a");
  const before = await contentsOf(store);
  for (const [from, to] of [["", "b"], ["a", ""], ["a", "a"], ["a", "a/b"]]) {
    for (const option of [{}, { overwrite: true }, { resume: true }]) {
      await assertRejects(
        () => convert({ store, path: from! }, { store, path: to! }, option),
        RangeError,
        from === to ? "onto itself" : "lie in one another",
      );
    }
  }
  assertEquals(await contentsOf(store), before);
});

Deno.test("convert refuses folders in one another, through links too", async () => {
  await inTempDir(async (folder) => {
    const root = `${folder}/data`;
    const store = new FileSystemStore(root);
    await store.set("/zarr.json", encodeJson(groupMetadata()));
    await checksummed(store, SMALL, "a");
    await checksummed(store, SMALL, "b");
    await Deno.mkdir(`${root}/b/c/empty`);
    await Deno.symlink(root, `${folder}/link`);
    const before = await treeOf(root);
    const source = new FileSystemStore(root);
    for (
      const [path, option] of [
        ["new", {}],
        ["a", { overwrite: true }],
        ["b/c", { overwrite: true }],
        ["", { overwrite: true }],
        ["b/c/empty", {}],
      ] as const
    ) {
      for (const base of [root, `${folder}/link`]) {
        const target = new FileSystemStore(`${base}/${path}`);
        await assertRejects(
          () => convert(source, target, option),
          RangeError,
          path === "" ? "onto itself" : "lie in one another",
        );
      }
      const target = new FileSystemStore(`${folder}/link`);
      await assertRejects(
        () =>
          convert({ store: source, path: "a" }, target, { overwrite: true }),
        RangeError,
        "lie in one another",
      );
      const { ["/new"]: _, ...after } = await treeOf(root);
      assertEquals(after, before, path);
    }
  });
});

Deno.test("convert overwrites only in stores that list, and converts only to stores that delete", async () => {
  const source = new MemoryStore();
  await checksummed(source, SMALL);
  const target = observed(new MemoryStore(), () => {}, [
    "get",
    "set",
    "delete",
  ]);
  await assertRejects(
    () => convert(source, target, { overwrite: true }),
    TypeError,
    'no "list" method',
  );
  await convert(source, target);
  assert(await target.get("/zarr.json"));
  await assertRejects(
    () =>
      convert(source, observed(new MemoryStore(), () => {}, ["get", "set"])),
    TypeError,
    'no "delete" method',
  );
});

// Damage

/** Damages of shard 1, 2, in a store of parts `""`, `.index` and `.crc32c`. */
const DAMAGES: Record<
  string,
  [(store: MemoryStore) => Promise<void>, ErrorClass]
> = {
  "a bit of the data": [(store) => flip(store, "/c/1/2", 3), ChecksumError],
  "a bit of the index": [
    (store) => flip(store, "/c/1/2.index", 3),
    ChecksumError,
  ],
  "a bit of the checksum": [
    (store) => flip(store, "/c/1/2.crc32c", 0),
    ChecksumError,
  ],
  "a lost part": [(store) => store.delete("/c/1/2.index"), MissingPartError],
  "a lost byte": [
    async (store) => {
      const key = "/c/1/2.crc32c";
      await store.set(key, (await store.get(key))!.subarray(1));
    },
    PartSizeError,
  ],
};

async function flip(store: MemoryStore, key: StoreKey, place: number) {
  const bytes = (await store.get(key))!;
  bytes[place]! ^= 1;
  await store.set(key, bytes);
}

for (const [name, [damage, ErrorClass]] of Object.entries(DAMAGES)) {
  for (const size of [SMALL, LARGE]) {
    Deno.test(`convert refuses ${name} in shards of ${size} bytes, and leaves the target unfinished`, async () => {
      const plain = new MemoryStore();
      const source = new MemoryStore();
      await checksummed(plain, size);
      const inParts = { parts: ["", ".index", ".crc32c"] };
      await convert(plain, source, inParts);
      const good = new MemoryStore();
      for await (const key of source.list()) {
        await good.set(key, (await source.get(key))!);
      }
      await damage(source);
      for (const layout of [{ plain: true }, {}, { parts: [".a:7", ""] }]) {
        const target = new MemoryStore();
        const error = await assertRejects(
          () => convert(source, target, layout),
          ErrorClass,
          "/c/1/2",
        );
        assert(error instanceof DamageError);
        assertEquals(await target.get("/zarr.json"), undefined);
        const chunks = Object.keys(await digestsOf(target));
        assertEquals(chunks.filter((key) => key.includes("1/2")), []);
        // Once the source is mended, the conversion goes on.
        await convert(good, target, { ...layout, resume: true });
        const again = new MemoryStore();
        await convert(target, again, inParts);
        assertEquals(await digestsOf(again), await digestsOf(good));
      }
    });
  }
}

Deno.test("convert verifies the index of a shard without a checksum behind it, at both ends", async () => {
  for (const indexLocation of ["start", "end"] as const) {
    for (const size of [SMALL, LARGE]) {
      const source = new MemoryStore();
      const { codecs, ...rest } = checksummedMetadata(indexLocation);
      const metadata = { ...rest, codecs: codecs.slice(0, 1) };
      const chunks = await createArrayChunks(source, "", metadata);
      const checked = new MemoryStore();
      await checksummed(checked, size, "", checksummedMetadata(indexLocation));
      const bytes = (await checked.get("/c/0/0"))!.slice(0, -4);
      await chunks.set([0, 0], bytes);
      await convert(source, new MemoryStore());
      const inIndex = indexLocation === "start" ? 2 : bytes.length - 6;
      bytes[inIndex]! ^= 1;
      await chunks.set([0, 0], bytes);
      await assertRejects(
        () => convert(source, new MemoryStore()),
        ChecksumError,
        "The index",
      );
      await chunks.set([0, 0], new Uint8Array(35));
      await assertRejects(
        () => convert(source, new MemoryStore()),
        DamageError,
        "35 bytes long, where its index and checksums take 36",
      );
    }
  }
});

Deno.test("convert refuses chunks that do not fit the new parts", async () => {
  const source = new MemoryStore();
  await checksummed(source, SMALL);
  await assertRejects(
    () => convert(source, new MemoryStore(), { parts: [".a:400", ""] }),
    PartSizeError,
    "/c/",
  );
});

// Changes of the source

Deno.test("convert notices changes of the source", async () => {
  const changes: [string, (source: MemoryStore) => Promise<void>][] = [
    ["was listed and is absent now", (source) => source.delete("/c/1/0")],
    ["has changed", (source) => source.set("/c/0/1", new Uint8Array(99))],
    ["has changed", (source) => source.set("/new.txt", new Uint8Array(99))],
    [
      "has changed",
      async (source) => {
        const { attributes: _, ...document } = await readJson(
          source,
          "/zarr.json",
        );
        await source.set("/zarr.json", encodeJson(document));
      },
    ],
  ];
  for (const [message, change] of changes) {
    const source = new MemoryStore();
    await checksummed(source, SMALL);
    const target = new MemoryStore();
    let isFirst = true;
    const changing = observed(source, () => {});
    const get = changing.get;
    const slow: Store = {
      ...changing,
      async get(key, options) {
        if (key.startsWith("/c/0/0") && isFirst) {
          isFirst = false;
          await change(source);
        }
        return await get(key, options);
      },
    };
    await assertRejects(
      () => convert(slow, target, { concurrency: 1 }),
      Error,
      message,
    );
    assertEquals(isFirst, false);
    assertEquals(await target.get("/zarr.json"), undefined);
  }
});

Deno.test("addHash gives the same sum in any order, also where the sum begins anew", () => {
  const texts = Array.from({ length: 20 }, (_, i) => `/c/${i}`);
  for (let start = 2 ** 52 - 3; start < 2 ** 52; start++) {
    const sum = texts.reduce(addHash, start);
    assertEquals(texts.toReversed().reduce(addHash, start), sum);
    const exact = texts.reduce(
      (sum, text) => sum + BigInt(addHash(0, text)),
      BigInt(start),
    );
    assertEquals(BigInt(sum), exact % 2n ** 52n);
  }
});

Deno.test("convert notices a file of the source that is replaced after it was copied", async () => {
  const parts = { parts: ["", ".index", ".crc32c"] };
  const bytes = new Uint8Array(41);
  for (const key of ["/c/0/0", "/c/1/2.index", "/readme.txt"] as const) {
    for (const share of [undefined, { index: 0, count: 1 }]) {
      await inTempDir(async (folder) => {
        const [whole, source, target] = ["a", "b", "c"].map((name) =>
          new FileSystemStore(`${folder}/${name}`)
        ) as [FileSystemStore, FileSystemStore, FileSystemStore];
        await checksummed(whole, SMALL);
        await whole.set("/readme.txt", bytes);
        await convert(whole, source, parts);
        const same = (await source.get(key))!;
        const options: ConvertOptions = {
          concurrency: 1,
          ...share && { share },
          onProgress({ done, total }) {
            if (done < total) return;
            const path = `${folder}/b${key}`;
            Deno.writeFileSync(`${path}.new`, same);
            Deno.renameSync(`${path}.new`, path);
          },
        };
        await assertRejects(
          () => convert(source, target, options),
          Error,
          "has changed while it was converted",
          key,
        );
        assertEquals(await target.get("/zarr.json"), undefined);
        await convert(source, target, { overwrite: true });
        assertEquals(await contentsOf(target), await contentsOf(source));
      });
    }
  }
});

Deno.test("convert notices a chunk that becomes longer while it is copied", async () => {
  const source = new MemoryStore();
  await checksummed(source, LARGE);
  const growing: Store = {
    ...observed(source, () => {}, ["get", "list"]),
    size: async (key) => (await source.size(key))! - 1,
    stream: (key) => source.stream(key),
  };
  await assertRejects(
    () => convert(growing, new MemoryStore()),
    Error,
    "the source was changed while the chunk was read",
  );
});

Deno.test("convert refuses a file that would be a chunk of the target", async () => {
  const source = new MemoryStore();
  await checksummed(source, SMALL);
  await source.set("/1.1", utf8("no chunk"));
  await assertRejects(
    () => convert(source, new MemoryStore(), { keyEncoding: "v2" }),
    Error,
    'would be one of the target, "/1.1"',
  );
});

// Documents

Deno.test("convert keeps all members and digits of documents, and changes consolidated metadata", async () => {
  const source = new MemoryStore();
  await checksummed(source, SMALL, "a");
  const text = (await readText(source, "/a/zarr.json"))
    .replace('"scale": 0.5', '"scale": 1.50, "big": 12345678901234567890123');
  await source.set("/a/zarr.json", utf8(text));
  const group = { ...groupMetadata({ a: "A" }), attributes: { x: 1 } };
  const root = JSON.stringify(group).replace('"A"', text);
  await source.set("/zarr.json", utf8(root));
  const target = new MemoryStore();
  await convert(source, target, {
    suffix: ".s",
    parts: ["", ".index", ".crc32c"],
  });
  const array = await readText(target, "/a/zarr.json");
  assert(array.includes("1.50") && array.includes("12345678901234567890123"));
  const consolidated = await readText(target, "/zarr.json");
  assert(consolidated.includes("1.50"));
  const { consolidated_metadata } = await readJson(target, "/zarr.json");
  assertEquals(consolidated_metadata.metadata.a, JSON.parse(array));
  assertEquals(JSON.parse(array).chunk_key_encoding.name, "suffix");
});

Deno.test("convert reads groups by consolidated metadata where the source cannot list", async () => {
  const source = new MemoryStore();
  await checksummed(source, SMALL, "a");
  const blind = observed(source, () => {}, ["get", "size"]);
  await source.set("/zarr.json", encodeJson(groupMetadata()));
  await assertRejects(
    () => convert(blind, new MemoryStore()),
    MetadataError,
    "the store cannot list",
  );
  const a = await readJson(source, "/a/zarr.json");
  await source.set("/zarr.json", encodeJson(groupMetadata({ a })));
  const target = new MemoryStore();
  const { total, copied, absent } = await convert(blind, target);
  assertEquals({ total, copied, absent }, { total: 6, copied: 3, absent: 3 });
  assertEquals(await contentsOf(target), await contentsOf(source));
  const b = groupMetadata({ a, b: a });
  await source.set("/zarr.json", encodeJson(b));
  await assertRejects(
    () => convert(blind, new MemoryStore()),
    MetadataError,
    'names a node at "b", and there is none',
  );
});

Deno.test("convert finds nodes by the attributes of OME-Zarr and GeoZarr where the source cannot list, and metadata is not consolidated", async () => {
  const image = (...paths: string[]) => ({
    multiscales: [{ datasets: paths.map((path) => ({ path })) }],
  });
  const hierarchies: Record<string, unknown>[] = [
    {
      "": { ome: image("0", "down/sampled/1") },
      ...{ "0": ARRAY, down: {}, "down/sampled": {}, "down/sampled/1": ARRAY },
      ...{ labels: { ome: { labels: ["cells"] } } },
      ...{ "labels/cells": { ome: image("0") }, "labels/cells/0": ARRAY },
    },
    {
      "": { plate: { wells: [{ path: "A/1" }] } },
      ...{ A: {}, "A/1": { well: { images: [{ path: "0" }] } } },
      ...{ "A/1/0": image("s0"), "A/1/0/s0": ARRAY },
    },
    {
      "": { "bioformats2raw.layout": 3 },
      ...{ OME: { series: ["first"] }, first: image("0"), "first/0": ARRAY },
    },
    {
      "": { ome: { "bioformats2raw.layout": 3 } },
      ...{ "0": image("0"), "0/0": ARRAY, "1": image("0"), "1/0": ARRAY },
    },
    {
      "": { multiscales: { layout: [{ asset: "0/t" }, { asset: "1/t" }] } },
      ...{ "0": {}, "0/t": ARRAY, "1": {}, "1/t": ARRAY },
    },
  ];
  for (const nodes of hierarchies) {
    const source = new MemoryStore();
    for (const [path, attributes] of Object.entries(nodes)) {
      if (attributes === ARRAY) {
        await checksummed(source, SMALL, path);
        continue;
      }
      const key = `${path && `/${path}`}/zarr.json` as StoreKey;
      await source.set(key, encodeJson({ ...groupMetadata(), attributes }));
    }
    const blind = observed(source, () => {}, ["get", "size"]);
    const target = new MemoryStore();
    await convert(blind, target);
    assertEquals(await contentsOf(target), await contentsOf(source));

    const [missing] = Object.keys(nodes).filter((path) =>
      nodes[path] === ARRAY
    );
    await source.delete(`/${missing}/zarr.json`);
    await assertRejects(
      () => convert(blind, new MemoryStore()),
      MetadataError,
      `Attributes name a node at "${missing}", and there is none`,
    );
  }
});

/** Stands for the array in a tree of attributes. */
const ARRAY = "array";

Deno.test("convert removes chunks that are absent now from a target that is continued", async () => {
  const source = new MemoryStore();
  await checksummed(source, SMALL);
  const blind = observed(source, () => {}, ["get", "size"]);
  const target = new MemoryStore();
  await convert(blind, target);
  await source.delete("/c/1/0");
  await convert(blind, target, { resume: true });
  assertEquals(await contentsOf(target), await contentsOf(source));
});

Deno.test("convert says what it would do in a dry run", async () => {
  const source = new MemoryStore();
  await checksummed(source, SMALL, "a");
  await source.set("/zarr.json", encodeJson(groupMetadata()));
  await source.set("/readme.txt", utf8("x"));
  const target = new MemoryStore();
  const { arrays, ...rest } = await convert(source, target, {
    suffix: ".s",
    dryRun: true,
  });
  assertEquals(rest, {
    total: 4,
    copied: 0,
    skipped: 0,
    absent: 0,
    bytes: 0,
    isFinished: false,
    v2Documents: [],
    v2Nodes: [],
    leftOut: [],
    excluded: [],
    others: [],
  });
  assertEquals(arrays.map(({ path, chunks }) => [path, chunks]), [["a", 3]]);
  assertEquals(arrays[0]!.metadata.chunk_key_encoding, {
    name: "suffix",
    configuration: {
      suffix: ".s",
      base_encoding: { name: "default", configuration: { separator: "/" } },
    },
  });
  assertEquals(await contentsOf(target), {});
});

Deno.test("convert tells its progress after each chunk and file", async () => {
  const source = new MemoryStore();
  await checksummed(source, SMALL);
  await source.set("/readme.txt", utf8("text"));
  const told: unknown[] = [];
  const { bytes } = await convert(source, new MemoryStore(), {
    concurrency: 1,
    onProgress: ({ done, total }) => told.push([done, total]),
  });
  assertEquals(told, [[1, 4], [2, 4], [3, 4], [4, 4]]);
  let sum = 4;
  for (const key of ["/c/0/0", "/c/1/0", "/c/1/2"] as const) {
    sum += (await source.size(key))!;
  }
  assertEquals(bytes, sum);
});

Deno.test("convert has no more chunks in work than its concurrency", async () => {
  const source = new MemoryStore();
  const chunks = await createArrayChunks(
    source,
    "",
    arrayMetadata({ shape: [50], dataType: "uint8", chunkShape: [1] }),
  );
  for (let i = 0; i < 50; i++) await chunks.set([i], Uint8Array.of(i));
  for (const concurrency of [1, 3, 100]) {
    let atWork = 0;
    let most = 0;
    const slow: Store = {
      async get(key) {
        most = Math.max(most, ++atWork);
        await new Promise((resolve) => setTimeout(resolve, 1));
        atWork--;
        return await source.get(key);
      },
      list: () => source.list(),
    };
    await convert(slow, new MemoryStore(), { concurrency });
    assertEquals(most, Math.min(concurrency, 50));
  }
});
