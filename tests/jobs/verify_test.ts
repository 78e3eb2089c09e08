import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import fc from "fast-check";
import { convert, inspect, repair, type Rule, verify } from "../../jobs.ts";
import {
  arrayMetadata,
  createArrayChunks,
  FileSystemStore,
  MemoryStore,
  MetadataError,
  type StoreKey,
} from "../../mod.ts";
import { journalName } from "../../src/stores/store_key.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { encodeJson, groupMetadata, utf8 } from "../support/documents.ts";
import { anyHierarchy, storedAndPlain } from "../support/hierarchy.ts";
import { type Method, observed } from "../support/observed_store.ts";
import { checksummed, CODECS } from "./checksummed.ts";
import { DAMAGES, example, SIZE } from "./damages.ts";

/** Stores that cannot list. */
const BLIND: Method[] = ["get", "getRange", "stream", "size", "group"];

Deno.test("verify finds nothing in whole arrays", async () => {
  const store = await example();
  for (const deep of [false, true]) {
    for (const methods of [undefined, BLIND, ["get"] as Method[]]) {
      const seen = methods ? observed(store, () => {}, methods) : store;
      const result = await verify(seen, "", { deep, codecs: CODECS });
      assertEquals(result, {
        findings: [],
        counts: {},
        chunks: 11,
        absentChunks: 10,
        arrays: 7,
        sharded: 4,
        undecoded: {},
        otherValues: methods === undefined ? 1 : undefined,
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
          .filter(({ rule }) => rule !== "v2-metadata")
          .filter(({ rule }) => rule !== "consolidated-metadata-differs")
          .filter(({ rule, key }) =>
            rule !== "values-unexplained" || !key.includes("/c/")
          );
        assertEquals(rules, []);
      },
    ),
    { numRuns: 100 },
  );
});

for (const [name, each] of Object.entries(DAMAGES)) {
  const { damage, found, needs, listed = [] } = each;
  Deno.test(`verify finds ${name}`, async () => {
    const sound = await example();
    for (const deep of [false, true]) {
      for (const methods of [undefined, BLIND, ["get"] as Method[]]) {
        const store = new MemoryStore();
        for await (const key of sound.list()) {
          await store.set(key, (await sound.get(key))!);
        }
        await damage(store);
        const seen = methods ? observed(store, () => {}, methods) : store;
        const told: unknown[] = [];
        const { findings, counts, isSound } = await verify(seen, "", {
          deep,
          codecs: CODECS,
          onFinding: (finding) => told.push(finding),
        });
        const isFound = !(needs === "deep" && !deep) &&
          !(needs === "list" && methods !== undefined);
        const rules = findings.map((
          { rule, key },
        ): [Rule, string] => [rule, key])
          .sort();
        const expected = [
          ...isFound ? found : [],
          ...methods === undefined ? listed : [],
        ];
        assertEquals(rules, expected, `${methods} ${deep}`);
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
    assertEquals(findings.map(({ rule, key }) => [rule, key]), [
      ...seen === store ? [["values-unexplained", "/raw/c/1/0.raw"]] : [],
      [rule, key],
    ]);
    const reason = seen === store ? 'no "/raw/zarr.json"' : '"raw", and there';
    assertStringIncludes(findings.at(-1)!.message, reason);
  }
});

const ARRAY = arrayMetadata({
  shape: [4],
  dataType: "uint8",
  chunkShape: [2],
});

/** Documents of no node, and where in them the mistake is. */
const NO_NODES: [unknown, pointer: string][] = [
  [[1, 2], ""],
  [null, ""],
  ["group", ""],
  [3, ""],
  [{}, "/zarr_format"],
  [{ zarr_format: 2 }, "/zarr_format"],
  [{ zarr_format: "3", node_type: "group" }, "/zarr_format"],
  [{ zarr_format: 3 }, "/node_type"],
  [{ zarr_format: 3, node_type: "arrray" }, "/node_type"],
  [{ ...ARRAY, node_type: "Array" }, "/node_type"],
  [{ ...groupMetadata(), attributes: [] }, "/attributes"],
  [{ ...groupMetadata(), shape: [2] }, "/shape"],
  [
    { ...groupMetadata(), consolidated_metadata: 1 },
    "/consolidated_metadata",
  ],
  [
    { ...groupMetadata(), consolidated_metadata: {} },
    "/consolidated_metadata/metadata",
  ],
  [{ ...ARRAY, attributes: "" }, "/attributes"],
  [{ ...ARRAY, data_type: undefined }, "/data_type"],
  [{ ...ARRAY, data_type: 8 }, "/data_type"],
  [{ ...ARRAY, codecs: "bytes" }, "/codecs"],
  [{ ...ARRAY, codecs: [null] }, "/codecs/0"],
  [{ ...ARRAY, codecs: [{ name: 1 }] }, "/codecs/0/name"],
  [{ ...ARRAY, shape: [-1] }, "/shape/0"],
  [{ ...ARRAY, dimension_names: ["x", "y"] }, "/dimension_names"],
  [{ ...ARRAY, dimension_names: [1] }, "/dimension_names"],
  [{ ...ARRAY, chunk_key_encoding: "keys" }, "/chunk_key_encoding"],
];

for (const path of ["", "/a"] as const) {
  Deno.test(`verify, convert and inspect refuse documents of no node at ${path || "the root"}`, async () => {
    for (const [document, pointer] of NO_NODES) {
      const key = `${path}/zarr.json` as StoreKey;
      const store = new MemoryStore([
        ["/zarr.json", encodeJson(groupMetadata())],
        [key, encodeJson(document)],
        [`${path}/c/0` as StoreKey, new Uint8Array(2)],
        [`${path}/c/1` as StoreKey, new Uint8Array(2)],
      ]);
      if (path !== "") await createArrayChunks(store, "b", ARRAY);
      const text = JSON.stringify(document);
      const result = await verify(store);
      assertEquals(
        result.findings.map(({ rule, key }) => [rule, key]),
        [["values-unexplained", `${path}/c/0`], ["metadata-invalid", key]],
        text,
      );
      assertStringIncludes(
        result.findings[0]!.message,
        "and 1 more value are not verified, since the document",
      );
      const { isSound, arrays, otherValues } = result;
      const expected = [false, path === "" ? 0 : 1, 2];
      assertEquals([isSound, arrays, otherValues], expected);
      const jobs = [
        () => inspect(store, path.slice(1), { count: false }),
        () => convert(store, new MemoryStore()),
      ];
      for (const job of jobs) {
        const error = await assertRejects(job, MetadataError);
        assertEquals(error.path, pointer, text);
        assertStringIncludes(error.message, `(at ${key}`);
      }
    }
  });
}

Deno.test("verify counts values that are no documents, chunks or parts", async () => {
  const store = await example();
  await store.set("/start/notes.txt", utf8("Text"));
  await store.set("/c/x/0", utf8("Text"));
  assertEquals((await verify(store)).otherValues, 3);
  let sum = 0;
  for (let index = 0; index < 3; index++) {
    const { otherValues } = await verify(store, "", {
      share: { index, count: 3 },
    });
    sum += otherValues!;
  }
  assertEquals(sum, 3);
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
    for (const name of ["chunks", "absentChunks", "otherValues"] as const) {
      const sum = shares.reduce((sum, share) => sum + share[name]!, 0);
      assertEquals(sum, whole[name], name);
    }
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
    'Unknown option "dep" of verify; expected "deep"',
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

/** An array of one chunk of 4 bytes by some codecs, and the chunk. */
async function encoded(
  codecs: readonly string[],
  chunk: Uint8Array,
  dataType = "uint8",
): Promise<MemoryStore> {
  const store = new MemoryStore();
  const metadata = arrayMetadata({
    shape: [4],
    dataType: "uint8",
    chunkShape: [4],
  });
  const array = { ...metadata, data_type: dataType, codecs };
  await store.set("/zarr.json", encodeJson(array));
  await store.set("/c/0", chunk);
  return store;
}

Deno.test("verify decodes by the codecs that it is given, and counts chunks that it does not decode", async () => {
  const gzip = new Uint8Array(
    await new Response(
      new Blob([new Uint8Array(4)]).stream()
        .pipeThrough(new CompressionStream("gzip")),
    ).arrayBuffer(),
  );
  /** A codec that adds one byte, of 7. */
  const codecs = new Map<string, () => unknown>([["seven", () => ({
    fromConfig: () => ({
      decode(bytes: Uint8Array) {
        if (bytes.at(-1) !== 7) throw new Error("Expected 7");
        return bytes.subarray(0, -1);
      },
    }),
  })], ["turn", () => ({ fromConfig: () => ({ decode() {} }) })]]);
  const bytes = Uint8Array.of(1, 2, 3, 4);
  const seven = Uint8Array.of(1, 2, 3, 4, 7);
  for (
    const [names, chunk, found, undecoded, dataType] of [
      [["bytes"], bytes, [], {}],
      [["bytes", "gzip"], gzip, [], {}],
      [["bytes", "seven"], seven, [], {}],
      [["turn", "bytes"], bytes, ["chunk-undecoded"], { 'codec "turn"': 1 }],
      [["bitround", "bytes", "seven"], seven, [], {}],
      [["bytes", "seven"], bytes, ["chunk-decoding"], {}],
      [["bytes", "seven"], seven.subarray(1), ["chunk-decoding"], {}],
      [["bytes", "eight"], seven, ["chunk-undecoded"], { 'codec "eight"': 1 }],
      [["eight", "bytes"], bytes, ["chunk-undecoded"], { 'codec "eight"': 1 }],
      [["eight"], bytes, ["chunk-undecoded"], { 'codec "eight"': 1 }],
      [["bytes", "eight", "gzip"], gzip, ["chunk-undecoded"], {
        'codec "eight"': 1,
      }],
      [["bytes", "eight", "gzip"], gzip.subarray(1), ["chunk-decoding"], {}],
      [
        ["bytes"],
        bytes,
        ["chunk-undecoded"],
        { 'data type "other"': 1 },
        "other",
      ],
    ] as const
  ) {
    const store = await encoded(names, chunk, dataType);
    const result = await verify(store, "", { deep: true, codecs });
    const text = `${names} ${chunk}`;
    assertEquals(result.findings.map(({ rule }) => rule), [...found], text);
    assertEquals(result.undecoded, undecoded, text);
    const isSound = found.length === 0
      ? true
      : found[0] === "chunk-undecoded"
      ? null
      : false;
    assertEquals(result.isSound, isSound, text);
    assertEquals(
      (await repair(store, "", { deep: true, codecs })).isSound,
      isSound,
      text,
    );
    if (isSound !== false || names.length === 1) {
      assertEquals((await verify(store)).isSound, true);
    }
  }
});

const LITTLE = { name: "bytes", configuration: { endian: "little" } };

/** A document as TensorStore writes it, and as zarr-python consolidates it. */
const ABRIDGED = {
  zarr_format: 3,
  node_type: "array",
  shape: [4],
  data_type: "uint8",
  chunk_grid: { name: "regular", configuration: { chunk_shape: [4] } },
  chunk_key_encoding: { name: "default" },
  fill_value: 0,
  codecs: [{
    name: "sharding_indexed",
    configuration: {
      chunk_shape: [2],
      codecs: [{ name: "bytes" }],
      index_codecs: [LITTLE, "crc32c"],
    },
  }],
};
const WRITTEN_OUT = {
  ...ABRIDGED,
  attributes: {},
  chunk_key_encoding: { name: "default", configuration: { separator: "/" } },
  codecs: [{
    name: "sharding_indexed",
    configuration: {
      chunk_shape: [2],
      codecs: [{ name: "bytes", configuration: {} }],
      index_codecs: [LITTLE, { name: "crc32c" }],
      index_location: "end",
    },
  }],
  storage_transformers: [],
};

/** Changes of a document, and whether they change its meaning. */
const CHANGES: [Record<string, unknown>, isDifferent: boolean][] = [
  [{}, false],
  [{ dimension_names: null }, false],
  [{ attributes: { a: 1 } }, true],
  [{ dimension_names: ["x"] }, true],
  [{ chunk_key_encoding: "default" }, false],
  [{ chunk_key_encoding: "v2" }, true],
  [{ chunk_key_encoding: { name: "of another program" } }, true],
  [{
    chunk_key_encoding: { name: "default", configuration: { separator: "." } },
  }, true],
  [{ codecs: [{ name: "bytes" }] }, true],
  [{ data_type: { name: "uint8", configuration: {} } }, false],
  [{ fill_value: 1 }, true],
];

Deno.test("verify accepts consolidated metadata in which defaults are written out", async () => {
  for (const [change, isDifferent] of CHANGES) {
    const node = { ...WRITTEN_OUT, ...change };
    const store = new MemoryStore([
      ["/zarr.json", encodeJson(groupMetadata({ a: node }))],
      ["/a/zarr.json", encodeJson(ABRIDGED)],
    ]);
    const { counts } = await verify(store);
    const expected = isDifferent ? { "consolidated-metadata-differs": 1 } : {};
    assertEquals(counts, expected, JSON.stringify(change));
  }
});
