import { assert, assertEquals, assertRejects } from "@std/assert";
import { deflateSync } from "node:zlib";
import { convert, inspect, migrate, repair, verify } from "../../jobs.ts";
import {
  FileSystemStore,
  MemoryStore,
  MetadataError,
  type Store,
  type StoreKey,
  v2View,
} from "../../mod.ts";
import { runCli } from "../cli/run_cli.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { listed } from "../stores/store_values.ts";
import {
  encodeJson,
  groupMetadata,
  readJson,
  readText,
  utf8,
  V2_GROUP,
  v2Metadata,
} from "../support/documents.ts";
import { observed } from "../support/observed_store.ts";

const V2_ARRAY = v2Metadata({ dtype: "<u2", fill_value: 7 });
type Json = Record<string, unknown>;

const CHUNK = new Uint8Array([1, 0, 2, 0, 3, 0, 4, 0]);

/** The values of a group of Zarr v2 with two arrays and consolidated metadata. */
function valuesOfGroup(): Map<StoreKey, Uint8Array> {
  const zattrs = utf8('{"version": 1.0, "nothing": NaN}');
  return new Map<StoreKey, Uint8Array>([
    ["/.zgroup", encodeJson(V2_GROUP)],
    ["/.zattrs", encodeJson({ title: "all" })],
    ["/.zmetadata", encodeJson({ metadata: { ".zgroup": V2_GROUP } })],
    ["/a/.zarray", encodeJson(V2_ARRAY)],
    ["/a/.zattrs", zattrs],
    ["/a/0.0", CHUNK],
    ["/b/.zgroup", encodeJson(V2_GROUP)],
    ["/b/c/.zarray", encodeJson({ ...V2_ARRAY, dimension_separator: "/" })],
    ["/b/c/0/0", CHUNK],
    ["/b/c/1/0", CHUNK],
  ]);
}

async function valuesIn(store: Store): Promise<Map<StoreKey, Uint8Array>> {
  const values = new Map<StoreKey, Uint8Array>();
  for (const key of await listed(store)) {
    values.set(key, (await store.get(key))!);
  }
  return values;
}

const WRITTEN: StoreKey[] = [
  "/b/c/zarr.json",
  "/b/zarr.json",
  "/a/zarr.json",
  "/zarr.json",
];

Deno.test("migrate adds a document to each node, the outermost one last, and changes nothing else", async () => {
  const store = new MemoryStore(valuesOfGroup());
  const dry = await migrate(store, { dryRun: true });
  assertEquals(await valuesIn(store), valuesOfGroup());
  const adoption = await migrate(store);
  assertEquals(adoption, dry);
  assertEquals(adoption, {
    arrays: ["a", "b/c"],
    groups: ["", "b"],
    written: WRITTEN,
    kept: [],
    removed: [],
    leftOut: [],
    masked: [],
    notJson: ["/a/zarr.json", "/zarr.json"],
  });
  for (const [key, bytes] of valuesOfGroup()) {
    assertEquals(await store.get(key), bytes);
  }
  assertEquals((await listed(store)).length, valuesOfGroup().size + 4);
  assert((await readText(store, "/a/zarr.json")).includes('"nothing": NaN'));
  assert((await readText(store, "/a/zarr.json")).includes('"version": 1.0'));
  // The .zmetadata lacks the arrays.
  const text = await readText(store, "/zarr.json");
  const { metadata } =
    JSON.parse(text.replace("NaN", "0")).consolidated_metadata;
  assertEquals(Object.keys(metadata), ["a", "b", "b/c"]);
  assertEquals(metadata["b/c"], await readJson(store, "/b/c/zarr.json"));
  // A second run finds nothing to do.
  const before = await valuesIn(store);
  const again = await migrate(store);
  assertEquals(again.written, []);
  assertEquals([...again.kept].sort(), [...WRITTEN].sort());
  assertEquals(await valuesIn(store), before);
  assertEquals(
    (await verify(store)).counts["consolidated-metadata-differs"],
    undefined,
  );
});

Deno.test("migrate removes the documents of Zarr v2 at the end", async () => {
  const store = new MemoryStore([
    ...valuesOfGroup(),
    ["/other/.zattrs", encodeJson({})],
  ]);
  const { removed } = await migrate(store, { removeV2: true });
  assertEquals(
    removed,
    [...valuesOfGroup().keys()].filter((key) => key.includes("/.z")).sort(),
  );
  assertEquals(
    await listed(store),
    [
      ...["/a/0.0", "/a/zarr.json", "/b/c/0/0", "/b/c/1/0", "/b/c/zarr.json"],
      ...["/b/zarr.json", "/other/.zattrs", "/zarr.json"],
    ],
  );
  assertEquals((await verify(store)).counts, { "metadata-not-json": 2 });
  await assertRejects(
    () => migrate(store),
    MetadataError,
    "Expected an array or a group of Zarr v2, found Zarr v3",
  );
});

Deno.test("migrate that was stopped at any request can be run again", async () => {
  const expected = new MemoryStore(valuesOfGroup());
  await migrate(expected, { removeV2: true });
  let isDone = false;
  let stops = 0;
  for (let last = 0; !isDone; last++) {
    const store = new MemoryStore(valuesOfGroup());
    let changes = 0;
    const stopping = observed(store, ({ method }) => {
      const isChange = method === "set" || method === "delete";
      if (isChange && changes++ === last) throw new Error("Stopped");
    });
    try {
      await migrate(stopping, { removeV2: true });
      isDone = true;
    } catch (error) {
      assertEquals((error as Error).message, "Stopped");
      stops++;
    }
    // The outermost document comes last, and the chunks stay.
    const keys = await listed(store);
    if (keys.includes("/zarr.json")) {
      for (const key of WRITTEN) assert(keys.includes(key), key);
    }
    const root = await inspect(store, "", { count: false });
    assertEquals(root.nodes.map(({ kind, path }) => `${kind} ${path}`), [
      ...["group ", "array a", "group b", "array b/c"],
    ]);
    if (!isDone) await migrate(store, { removeV2: true });
    assertEquals(await valuesIn(store), await valuesIn(expected));
  }
  assertEquals(stops, WRITTEN.length + 7);
});

Deno.test("migrate keeps documents that nodes have, unless it is to replace them", async () => {
  const store = new MemoryStore(valuesOfGroup());
  await migrate({ store, path: "a" });
  await migrate({ store, path: "b/c" });
  const changed = {
    ...await readJson(store, "/b/c/zarr.json"),
    attributes: { new: 1 },
  };
  await store.set("/b/c/zarr.json", encodeJson(changed));
  const { kept, written } = await migrate(store);
  assertEquals(kept, ["/a/zarr.json", "/b/c/zarr.json"]);
  assertEquals(written, ["/b/zarr.json", "/zarr.json"]);
  const text = (await readText(store, "/zarr.json")).replace("NaN", "0");
  assertEquals(
    JSON.parse(text).consolidated_metadata.metadata["b/c"],
    changed,
  );
  const replaced = await migrate(store, { overwrite: true });
  assertEquals(replaced.kept, ["/a/zarr.json", "/b/zarr.json"]);
  assertEquals(replaced.written, ["/b/c/zarr.json", "/zarr.json"]);
  assertEquals((await readJson(store, "/b/c/zarr.json")).attributes, {});
});

Deno.test("migrate refuses a group with nodes that Zarr v3 cannot represent, or leaves them as they are", async () => {
  const bad = encodeJson({ ...V2_ARRAY, filters: [{ id: "pickle" }] });
  const values: [StoreKey, Uint8Array][] = [
    ...valuesOfGroup(),
    ["/bad/.zarray", bad],
    ["/b/worse/.zarray", utf8("{")],
  ];
  const store = new MemoryStore(values);
  const error = await assertRejects(() => migrate(store), MetadataError);
  assert(
    error.message.startsWith("2 nodes cannot be migrated: "),
    error.message,
  );
  assert(error.message.includes("/bad/.zarray#/filters/0/id"), error.message);
  assert(error.message.includes("/b/worse/.zarray"), error.message);
  assert(
    error.message.endsWith('the option "keepGoing" leaves them as they are'),
  );
  assertEquals(await valuesIn(store), new Map(values));
  const { leftOut, written } = await migrate(store, {
    keepGoing: true,
    removeV2: true,
  });
  assertEquals(written, WRITTEN);
  assertEquals(leftOut.map(({ path }) => path), ["b/worse", "bad"]);
  assertEquals(await store.get("/bad/.zarray"), bad);
  assertEquals(await store.get("/a/.zarray"), undefined);
  await assertRejects(
    () => migrate({ store, path: "bad" }, { keepGoing: true }),
    MetadataError,
    "pickle",
  );
});

Deno.test("migrate refuses places without Zarr v2, read-only stores and unknown options", async () => {
  const store = new MemoryStore([["/zarr.json", encodeJson(groupMetadata())]]);
  await assertRejects(() => migrate(store), MetadataError, "found Zarr v3");
  await assertRejects(
    () => migrate(new MemoryStore()),
    MetadataError,
    "No Zarr node",
  );
  const folders = new MemoryStore([
    ["/a/.zgroup", encodeJson(V2_GROUP)],
    ["/b/.zarray", encodeJson(V2_ARRAY)],
  ]);
  await assertRejects(
    () => migrate(folders),
    MetadataError,
    'there are nodes at "/a" and "/b"',
  );
  const values = valuesOfGroup();
  const readOnly: Store = { get: (key) => Promise.resolve(values.get(key)) };
  await assertRejects(() => migrate(readOnly), TypeError, "read-only");
  await assertRejects(
    () => migrate(store, { remove: true } as Record<string, boolean>),
    TypeError,
    "remove",
  );
});

Deno.test("migrate finds the nodes of a store that cannot list in its consolidated metadata", async () => {
  const values = valuesOfGroup();
  values.set(
    "/.zmetadata",
    encodeJson({
      metadata: { "a/.zarray": V2_ARRAY, "b/.zgroup": V2_GROUP },
    }),
  );
  const memory = new MemoryStore(values);
  const store = observed(memory, () => {}, ["get", "set", "delete"]);
  const { written, removed } = await migrate(store, { removeV2: true });
  assertEquals(written, ["/b/zarr.json", "/a/zarr.json", "/zarr.json"]);
  assertEquals(
    [...removed].sort(),
    // The consolidated metadata does not name /b/c.
    [...values.keys()]
      .filter((key) => /\/\.z/.test(key) && !key.startsWith("/b/c/")).sort(),
  );
  assertEquals(await memory.get("/a/.zattrs"), undefined);
});

Deno.test("jobs read Zarr v2 as Zarr v3", async () => {
  const store = new MemoryStore(valuesOfGroup());
  const { nodes } = await inspect(store);
  assertEquals(
    nodes.map((node) =>
      node.kind === "array"
        ? [node.path, node.zarrFormat, node.stored?.chunks, node.chunk?.key]
        : [node.path, node.kind]
    ),
    [
      ["", "group"],
      ["a", 2, 1, "/a/0.0"],
      ["b", "group"],
      ["b/c", 2, 2, "/b/c/0/0"],
    ],
  );
  const { isSound, chunks, otherValues, undecoded } = await verify(store, "", {
    deep: true,
  });
  assertEquals([isSound, chunks, otherValues, undecoded], [true, 3, 0, {}]);
  await store.set("/a/1.0", CHUNK.subarray(1));
  const { findings } = await verify(store, "", { deep: true });
  assertEquals(
    findings.map(({ rule, key }) => [rule, key]),
    [
      ["chunk-size", "/a/1.0"],
    ].filter(() => findings[0]!.rule === "chunk-size"),
  );
  await store.delete("/a/1.0");
  const target = new MemoryStore();
  const conversion = await convert(store, target, { suffix: ".bin" });
  assertEquals(conversion.v2Nodes, ["", "a", "b", "b/c"]);
  assertEquals(conversion.copied, 3);
  assertEquals(await target.get("/b/c/c/1/0.bin"), undefined);
  assertEquals(
    (await listed(target)).filter((key) => !key.endsWith("zarr.json")),
    ["/a/0.0.bin", "/b/c/0/0.bin", "/b/c/1/0.bin"],
  );
  const plain = new MemoryStore();
  await convert(v2View(store), plain, { plain: true });
  assertEquals(await plain.get("/b/c/c/1/0"), CHUNK);
});

Deno.test("migrate, convert and v2View give arrays of xarray the attribute _FillValue, unless they are not to", async () => {
  const dimensions = { _ARRAY_DIMENSIONS: ["y", "x"] };
  const float = { ...dimensions, _FillValue: -99.5 };
  const texts = { dtype: "<U4", fill_value: "none" };
  const cases: [array: Json, attributes: Json, added: Json][] = [
    [{ fill_value: 7 }, dimensions, { _FillValue: 7 }],
    [{ dtype: "<i8", fill_value: "-5" }, dimensions, { _FillValue: -5 }],
    [{ dtype: "|b1", fill_value: 1 }, dimensions, { _FillValue: true }],
    [
      { dtype: ">f4", fill_value: -99.5 },
      dimensions,
      { _FillValue: "AAAAAADgWMA=" },
    ],
    [
      { dtype: "<f8", fill_value: "NaN" },
      dimensions,
      { _FillValue: "AAAAAAAA+H8=" },
    ],
    [
      { dtype: "<c8", fill_value: [-99.5, 0] },
      dimensions,
      { _FillValue: ["AAAAAADgWMA=", "AAAAAAAAAAA="] },
    ],
    [texts, dimensions, { missing_value: "none" }],
    [{ dtype: "<f4", fill_value: 0 }, float, { _FillValue: "AAAAAADgWMA=" }],
    [{ dtype: "<f4", fill_value: null }, float, { _FillValue: "AAAAAADgWMA=" }],
    [{ fill_value: null }, dimensions, {}],
    [{ fill_value: 7 }, {}, {}],
    [{ dtype: "<f4", fill_value: 7 }, { _FillValue: 7 }, {}],
    [{ fill_value: 7 }, { ...dimensions, _FillValue: 3 }, {}],
    [texts, { ...dimensions, missing_value: "x" }, {}],
    [{ dtype: "<M8[s]", fill_value: 7 }, dimensions, {}],
    [{ dtype: "|S2", fill_value: "YQ==" }, dimensions, {}],
    [
      { dtype: "|O", filters: [{ id: "vlen-bytes" }], fill_value: "YQ==" },
      dimensions,
      {},
    ],
  ];
  for (const [array, attributes, added] of cases) {
    const store = new MemoryStore([
      ["/.zarray", encodeJson({ ...V2_ARRAY, ...array })],
      ["/.zattrs", encodeJson(attributes)],
    ]);
    const unchanged = { fillValueAttribute: false };
    const expected = { ...attributes, ...added };
    const converted = new MemoryStore();
    await convert(store, converted);
    for (const shown of [v2View(store), converted]) {
      const document = await readJson(shown, "/zarr.json");
      assertEquals(document.attributes, expected);
    }
    const { attributes: shown } = await readJson(
      v2View(store, unchanged),
      "/zarr.json",
    );
    assertEquals(shown, attributes);
    const { masked } = await migrate(store, unchanged);
    assertEquals(masked, Object.keys(added).length > 0 ? [""] : []);
    assertEquals((await readJson(store, "/zarr.json")).attributes, attributes);
    assertEquals((await migrate(store, { overwrite: true })).masked, []);
    assertEquals((await readJson(store, "/zarr.json")).attributes, expected);
  }
});

Deno.test("repair leaves documents of Zarr v2 as they are", async () => {
  const values = valuesOfGroup();
  const stale = { ...V2_ARRAY, shape: [9, 9] };
  values.set("/.zmetadata", encodeJson({ metadata: { "a/.zarray": stale } }));
  const store = new MemoryStore(values);
  const { repaired, unrepaired } = await repair(store);
  assertEquals(repaired, []);
  assertEquals(
    unrepaired.map(({ finding: { rule, key } }) => [rule, key]),
    [["consolidated-metadata-differs", "/.zmetadata"]],
  );
  assertEquals(await valuesIn(store), values);
});

Deno.test("verify decodes elements of a fixed length, whatever they are", async () => {
  const types: [dtype: unknown, size: number][] = [
    ["|S3", 3],
    ["<U2", 8],
    [">U1", 4],
    ["|V5", 5],
    ["<M8[s]", 8],
    [">c16", 16],
    [[["a", "|u1"], ["b", "<f4"]], 5],
  ];
  for (const [dtype, size] of types) {
    for (const order of ["C", "F"]) {
      const array = { ...V2_ARRAY, dtype, order, fill_value: null };
      for (const compressor of [null, { id: "zlib" }]) {
        for (const difference of [-1, 0, 1]) {
          const chunk = new Uint8Array(4 * size + difference);
          const stored = compressor === null
            ? chunk
            : new Uint8Array(deflateSync(chunk));
          const store = new MemoryStore([
            ["/.zarray", encodeJson({ ...array, compressor })],
            ["/0.0", stored],
          ]);
          const { findings } = await verify(store, "", { deep: true });
          assertEquals(
            findings.map(({ rule }) => rule),
            difference === 0
              ? []
              : [compressor === null ? "chunk-size" : "chunk-decoding"],
            `${JSON.stringify(dtype)} ${order} ${difference}`,
          );
        }
      }
    }
  }
});

Deno.test("verify names the document of a Zarr v2 node that Zarr v3 cannot represent", async () => {
  const store = new MemoryStore([
    ...valuesOfGroup(),
    ["/bad/.zarray", encodeJson({ ...V2_ARRAY, filters: [{ id: "pickle" }] })],
    ["/bad/.zattrs", encodeJson({})],
    ["/bad/0.0", CHUNK],
  ]);
  const { findings, otherValues } = await verify(store);
  assertEquals(findings.map(({ rule, key }) => [rule, key]), [
    ["values-unexplained", "/bad/0.0"],
    ["metadata-invalid", "/bad/.zarray"],
  ]);
  assert(findings[0]!.message.includes('the document "/bad/.zarray" is not'));
  assert(findings[1]!.message.includes("/bad/.zarray"));
  assertEquals(otherValues, 2);
});

Deno.test("zarr-parts migrate migrates a folder of Zarr v2", async () => {
  await inTempDir(async (folder) => {
    const store = new FileSystemStore(folder);
    for (const [key, bytes] of valuesOfGroup()) await store.set(key, bytes);
    const dry = await runCli("migrate", folder, "--dry-run", "--remove-v2");
    assertEquals(dry, {
      code: 0,
      err: "",
      out: `2 arrays and 2 groups of Zarr v2 would be migrated in ${folder}
  4 zarr.json documents would be written
  7 documents of Zarr v2 would be removed
  NaN or an infinity is in the attributes in /a/zarr.json, /zarr.json, as it was: some programs cannot read such documents
`,
    });
    assertEquals(await valuesIn(store), valuesOfGroup());
    for (const args of [[], ["--into", `${folder}/new`]]) {
      const { code, err } = await runCli("adopt", folder, ...args);
      assertEquals(code, 2);
      assert(err.includes(`use zarr-parts migrate ${folder}`), err);
    }
    const { out, code } = await runCli("migrate", folder);
    assertEquals(code, 0);
    assertEquals(
      out.split("\n")[0],
      `2 arrays and 2 groups of Zarr v2 migrated in ${folder}`,
    );
    const again = await runCli("migrate", folder, "--json", "--remove-v2");
    const { removed, kept } = JSON.parse(again.out);
    assertEquals([removed.length, kept.length], [7, 4]);
    for (
      const [place, message] of [
        [`${folder}/nothing`, "There is no folder"],
        [`${folder}/zarr.json`, "found that of its document"],
        ["http://127.0.0.1:1/old.zarr", "a web server"],
      ] as const
    ) {
      const { code, err } = await runCli("migrate", place);
      assert(code !== 0 && err.includes(message), err);
    }
  });
});

Deno.test("zarr-parts migrate --no-fill-value-attribute names arrays whose missing elements xarray does not find any more", async () => {
  for (const isNamed of [false, true]) {
    await inTempDir(async (folder) => {
      const store = new FileSystemStore(folder);
      await store.set("/.zarray", encodeJson({ ...V2_ARRAY, fill_value: 0 }));
      const attributes = { _ARRAY_DIMENSIONS: ["y", "x"] };
      await store.set("/.zattrs", encodeJson(attributes));
      const args = isNamed ? ["--no-fill-value-attribute"] : [];
      const { out } = await runCli("migrate", folder, ...args);
      assertEquals(out.includes("xarray takes the fill values"), isNamed, out);
      const document = await readJson(store, "/zarr.json");
      assertEquals("_FillValue" in document.attributes, !isNamed);
    });
  }
});

Deno.test("convert --in-place of Zarr v2 names adopt", async () => {
  await inTempDir(async (folder) => {
    const store = new FileSystemStore(folder);
    for (const [key, bytes] of valuesOfGroup()) await store.set(key, bytes);
    for (const [path, kind] of [["", "group"], ["/a", "array"]]) {
      const { code, err } = await runCli(
        ...["convert", "--in-place", `${folder}${path}`, "--suffix", ".bin"],
      );
      assertEquals(code, 1);
      assert(
        err.includes(
          `found a Zarr v2 ${kind} (.z${kind}); v2View shows it as Zarr v3, and migrate or zarr-parts migrate gives it a zarr.json`,
        ),
        err,
      );
    }
    assertEquals(await valuesIn(store), valuesOfGroup());
  });
});

Deno.test("zarr-parts inspect says that nodes are of Zarr v2", async () => {
  await inTempDir(async (folder) => {
    const store = new FileSystemStore(folder);
    for (const [key, bytes] of valuesOfGroup()) await store.set(key, bytes);
    const { out } = await runCli("inspect", folder);
    assert(out.startsWith(`${folder}  group  Zarr v2, shown as v3\n`), out);
    // The line of the outermost group says it for all nodes.
    assert(out.includes("a  uint16  3 × 2  1 of 2 chunks\n"), out);
    const mixed = `${folder}/mixed`;
    await Deno.mkdir(mixed);
    await Deno.rename(`${folder}/a`, `${mixed}/a`);
    await Deno.writeTextFile(
      `${mixed}/zarr.json`,
      '{ "zarr_format": 3, "node_type": "group" }',
    );
    const below = await runCli("inspect", mixed);
    assert(
      below.out.includes(
        "a  uint16  3 × 2  1 of 2 chunks  Zarr v2, shown as v3",
      ),
      below.out,
    );
    await Deno.rename(`${mixed}/a`, `${folder}/a`);
    const array = await runCli("inspect", `${folder}/a`);
    assert(
      array.out.startsWith(`${folder}/a  array of Zarr v2, shown as v3\n`),
    );
  });
});
