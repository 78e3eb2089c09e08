import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import fc from "fast-check";
import {
  arrayMetadata,
  createArrayChunks,
  FileSystemStore,
  MemoryStore,
  MetadataError,
  type Store,
} from "../../mod.ts";
import { convert, type Rule, verify } from "../../src/jobs/mod.ts";
import { journalName } from "../../src/stores/temporary_name.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { encodeJson, groupMetadata } from "../support/documents.ts";
import { anyHierarchy, storedAndPlain } from "../support/hierarchy.ts";
import { observed } from "../support/observed_store.ts";
import { checksummed } from "./checksummed.ts";
import { DAMAGES, example, SIZE } from "./damages.ts";

/** Stores that cannot list. */
const BLIND: (keyof Store)[] = ["get", "getRange", "stream", "size", "group"];

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
    const reason = seen === store ? 'no "/raw/zarr.json"' : '"raw", and there';
    assertStringIncludes(findings[0]!.message, reason);
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
