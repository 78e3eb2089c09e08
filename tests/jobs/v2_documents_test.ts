/** Zarr v2 metadata beside a `zarr.json`, as `zarr migrate v3` of zarr-python leaves it. */
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import * as zarr from "zarrita";
import { convert, convertInPlace, verify } from "../../jobs.ts";
import {
  createArrayChunks,
  FileSystemStore,
  MemoryStore,
  type Store,
  type StoreKey,
} from "../../mod.ts";
import { withZarrParts } from "../../zarrita.ts";
import { runCli } from "../cli/run_cli.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import {
  encodeJson,
  groupMetadata,
  readJson,
  readText,
  utf8,
  V2_GROUP,
  v2Metadata,
} from "../support/documents.ts";
import { arrayMetadata } from "../support/metadata.ts";

const V2_ARRAY = v2Metadata({ chunks: [3, 2] });
const ELEMENTS = [1, 2, 3, 4, 5, 6];

async function createMigrated(store: Store, path: string): Promise<void> {
  const metadata = arrayMetadata({
    shape: [3, 2],
    chunk_grid: { name: "regular", configuration: { chunk_shape: [3, 2] } },
    chunk_key_encoding: "v2",
  });
  const chunks = await createArrayChunks(store, path, metadata);
  await chunks.set([0, 0], new Uint8Array(ELEMENTS));
  await store.set!(`/${path}/.zarray`, encodeJson(V2_ARRAY));
  await store.set!(`/${path}/.zattrs`, utf8('{"a": NaN, "b": 1.0}'));
}

/**
 * A group with documents of both versions. In it are an array with both, an array of Zarr
 * v2, and a group of Zarr v2 with an array of each kind.
 */
async function createGroup(store: Store): Promise<void> {
  for (const path of ["a", "old/both"]) await createMigrated(store, path);
  for (const path of ["v2", "old/v2"]) {
    await store.set!(`/${path}/.zarray`, encodeJson(V2_ARRAY));
    await store.set!(`/${path}/0.0`, new Uint8Array(ELEMENTS));
    await store.set!(`/${path}/.zattrs`, utf8('{"a": NaN, "b": 1.0}'));
  }
  await store.set!("/zarr.json", encodeJson(groupMetadata()));
  await store.set!("/.zgroup", encodeJson(V2_GROUP));
  await store.set!("/.zattrs", encodeJson({}));
  await store.set!("/old/.zgroup", encodeJson(V2_GROUP));
  const nodes = (...paths: string[]) =>
    Object.fromEntries(
      paths.flatMap((path) => [
        [`${path}.zarray`, V2_ARRAY],
        [`${path}.zattrs`, {}],
      ]),
    );
  const consolidated = (...paths: string[]) =>
    encodeJson({
      zarr_consolidated_format: 1,
      metadata: { ".zgroup": V2_GROUP, ...nodes(...paths) },
    });
  await store.set!(
    "/.zmetadata",
    consolidated("a/", "v2/", "old/both/", "old/v2/"),
  );
  await store.set!("/old/.zmetadata", consolidated("both/", "v2/"));
}

/** The keys of documents of Zarr v2 beside a `zarr.json`. */
const BESIDE: StoreKey[] = [
  "/.zattrs",
  "/.zgroup",
  "/.zmetadata",
  "/a/.zarray",
  "/a/.zattrs",
  "/old/both/.zarray",
  "/old/both/.zattrs",
];
/** The other documents of Zarr v2. */
const ALONE: StoreKey[] = [
  "/old/.zgroup",
  "/old/.zmetadata",
  "/old/v2/.zarray",
  "/old/v2/.zattrs",
  "/v2/.zarray",
  "/v2/.zattrs",
];

async function documentsIn(store: Store): Promise<StoreKey[]> {
  const keys = await Array.fromAsync(store.list!());
  return keys.filter((key) => /\/\.z[a-z]+$/.test(key)).sort();
}

async function keysOfConsolidated(store: Pick<Store, "get">) {
  const { metadata } = await readJson(store as Store, "/old/.zmetadata");
  return Object.keys(metadata);
}

/** Asserts that zarrita reads the elements of all arrays, whatever it has opened before. */
async function assertElements(store: Store): Promise<void> {
  for (const first of ["v2", "v3"] as const) {
    const shown = withZarrParts(store);
    const root = zarr.root(shown);
    for (let i = 0; i < 3; i++) {
      if (first === "v2") await zarr.open.v2(root.resolve("v2"));
      else await zarr.open.v3(root.resolve("a"));
    }
    for (const path of ["a", "v2", "old/both", "old/v2"]) {
      const array = await zarr.open(root.resolve(path), { kind: "array" });
      const { data } = await zarr.get(array);
      assertEquals(Array.from(data as Uint8Array), ELEMENTS, path);
    }
    const { attrs } = await zarr.open(root.resolve("v2"), { kind: "array" });
    assertEquals(attrs, { a: "NaN", b: 1 });
    await assertRejects(() => zarr.open.v2(root.resolve("a")));
  }
  // zarrita takes consolidated metadata of the folder that a store begins with.
  const old: Store = {
    get: (key, options) => store.get(`/old${key}`, options),
  };
  const consolidated = await zarr.withConsolidatedMetadata(
    withZarrParts(old),
    { format: "v2" },
  );
  for (const path of ["both", "v2"]) {
    const location = zarr.root(consolidated).resolve(path);
    const array = await zarr.open(location, { kind: "array" });
    const { data } = await zarr.get(array);
    assertEquals(Array.from(data as Uint8Array), ELEMENTS, path);
  }
}

const FORMER: StoreKey[] = ["/a/0.0", "/old/both/0.0"];

Deno.test("convert copies no Zarr v2 metadata, and gives all nodes a zarr.json", async () => {
  const source = new MemoryStore();
  await createGroup(source);
  for (const options of [{ suffix: ".bin" }, {}]) {
    const target = new MemoryStore();
    const dry = await convert(source, target, { ...options, dryRun: true });
    const conversion = await convert(source, target, options);
    for (const { v2Documents, v2Nodes } of [dry, conversion]) {
      assertEquals([...v2Documents].sort(), BESIDE);
      assertEquals([...v2Nodes].sort(), ["old", "old/v2", "v2"]);
    }
    assertEquals(await documentsIn(target), []);
    const root = zarr.root(withZarrParts(target));
    for (const path of ["a", "v2", "old/both", "old/v2"]) {
      const array = await zarr.open.v3(root.resolve(path), { kind: "array" });
      const { data } = await zarr.get(array);
      assertEquals(Array.from(data as Uint8Array), ELEMENTS, path);
    }
    const text = await readText(target, "/v2/zarr.json");
    assertStringIncludes(text, '"a": NaN,\n    "b": 1.0');
    assertEquals((await verify(target)).counts["v2-metadata"], undefined);
    // A target that is there already is the same.
    const again = await convert(source, target, { ...options, resume: true });
    assertEquals(again.copied, 0);
  }
});

Deno.test("convertInPlace removes Zarr v2 metadata beside a zarr.json, and says so", async () => {
  for (const layout of [{ suffix: ".bin" }, { parts: ["", ".i:2"] }]) {
    await inTempDir(async (folder) => {
      const store = new FileSystemStore(folder);
      await createGroup(store);
      const dry = await convertInPlace(store, { ...layout, dryRun: true });
      assertEquals((await documentsIn(store)).length, 13);
      const conversion = await convertInPlace(store, layout);
      for (const { v2Documents, v2Nodes } of [dry, conversion]) {
        assertEquals([...v2Documents].sort(), BESIDE);
        assertEquals([...v2Nodes].sort(), ["old", "old/v2", "v2"]);
      }
      assertEquals(await documentsIn(store), ALONE);
      const nodes = await keysOfConsolidated(store);
      assertEquals(nodes, [".zgroup", "v2/.zarray", "v2/.zattrs"]);
      for (const key of "suffix" in layout ? FORMER : []) {
        assertEquals(await store.get(key), undefined);
      }
      await assertElements(store);
    });
  }
});

Deno.test("convert --in-place leaves an array out of the consolidated Zarr v2 metadata of groups above", async () => {
  await inTempDir(async (folder) => {
    const store = new FileSystemStore(folder);
    await createGroup(store);
    const args = ["convert", "--in-place", `${folder}/old/both`];
    const { code, out, err } = await runCli(...args, "--suffix", ".bin");
    assertEquals(code, 0, err);
    assertEquals(
      out.split("\n")[1],
      "removed: Zarr v2 metadata beside zarr.json, /old/both/.zarray, /old/both/.zattrs",
    );
    const { metadata } = await readJson(store, "/.zmetadata");
    assertEquals(Object.keys(metadata), [
      ...[".zgroup", "a/.zarray", "a/.zattrs", "v2/.zarray", "v2/.zattrs"],
      ...["old/v2/.zarray", "old/v2/.zattrs"],
    ]);
    const nodes = await keysOfConsolidated(store);
    assertEquals(nodes, [".zgroup", "v2/.zarray", "v2/.zattrs"]);
    await assertElements(store);
  });
});

Deno.test("convertInPlace removes Zarr v2 metadata that an earlier conversion has left", async () => {
  await inTempDir(async (folder) => {
    const store = new FileSystemStore(folder);
    await createGroup(store);
    await convertInPlace(store, { suffix: ".bin" });
    await store.set("/a/.zarray", encodeJson(V2_ARRAY));
    const dry = await convertInPlace(store, { suffix: ".bin", dryRun: true });
    assertEquals(dry.v2Documents, ["/a/.zarray"]);
    assertEquals(await store.get("/a/.zarray"), encodeJson(V2_ARRAY));
    const { v2Documents, isFinished } = await convertInPlace(store, {
      suffix: ".bin",
    });
    assertEquals([v2Documents, isFinished], [["/a/.zarray"], true]);
    assertEquals(await documentsIn(store), ALONE);
  });
});

Deno.test("verify warns of Zarr v2 metadata beside a zarr.json", async () => {
  const store = new MemoryStore();
  await createGroup(store);
  const { findings, isSound } = await verify(store);
  assertEquals(
    findings.map(({ rule, severity, key }) => [rule, severity, key]).sort(),
    [
      // The consolidated metadata lacks the attributes.
      ["consolidated-metadata-differs", "warning", "/old/.zmetadata"],
      ...BESIDE.map((key) => ["v2-metadata", "warning", key]),
    ].sort(),
  );
  assertEquals(isSound, true);
});
