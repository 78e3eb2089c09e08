/** Groups of which some nodes are damaged, cut off, or none of Zarr v3. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import * as zarr from "zarrita";
import { convert, convertInPlace, inspect, verify } from "../../jobs.ts";
import {
  createArrayChunks,
  FileSystemStore,
  MemoryStore,
  MetadataError,
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
} from "../support/documents.ts";
import { arrayMetadata } from "../support/metadata.ts";

const BAD: Readonly<Record<string, Uint8Array>> = {
  "cut": encodeJson(arrayMetadata()).subarray(0, 40),
  "empty": new Uint8Array(),
  "foreign": encodeJson({ name: "a package" }),
  "html": utf8("<html>"),
  "keys": encodeJson(arrayMetadata({ chunk_key_encoding: "own" })),
  "list": encodeJson([1, 2]),
  "sub/codecs": encodeJson(arrayMetadata({ codecs: undefined })),
};

/** A group with consolidated metadata, two good arrays and one text, and bad nodes with a chunk each. */
async function createGroup(store: Store): Promise<void> {
  for (const path of ["a", "list/z"]) {
    const metadata = arrayMetadata({
      attributes: { big: "BIG", scale: "1.50" },
    });
    const chunks = await createArrayChunks(store, path, metadata);
    await chunks.set([1, 1], new Uint8Array(16).fill(7));
    const key: StoreKey = `/${path}/zarr.json`;
    const text = (await readText(store, key))
      .replace('"BIG"', "18446744073709551615").replace('"1.50"', "1.50");
    await store.set!(key, utf8(text));
  }
  for (const [path, bytes] of Object.entries(BAD)) {
    await store.set!(`/${path}/zarr.json`, bytes);
    await store.set!(`/${path}/c/0/0`, new Uint8Array(16));
  }
  await store.set!("/sub/zarr.json", encodeJson(groupMetadata()));
  await store.set!("/readme.txt", utf8("text"));
  const nodes = {
    a: "A",
    keys: arrayMetadata({ chunk_key_encoding: "own" }),
  };
  const a = await readText(store, "/a/zarr.json");
  const group = JSON.stringify(groupMetadata(nodes)).replace('"A"', a);
  await store.set!("/zarr.json", utf8(group));
}

const PATHS = Object.keys(BAD).sort();
const LAYOUT = { suffix: ".bin" };

async function assertGood(store: Store): Promise<void> {
  const root = zarr.root(withZarrParts(store));
  for (const path of ["a", "list/z"]) {
    const array = await zarr.open(root.resolve(path), { kind: "array" });
    assertEquals(await zarr.get(array, [4, 4]), 7);
    const text = await readText(store, `/${path}/zarr.json`);
    assert(text.includes('"big": 18446744073709551615'), text);
    assert(text.includes('"scale": 1.50'), text);
  }
}

Deno.test("convert names a node that is not valid, or leaves such nodes out with keepGoing", async () => {
  const source = new MemoryStore();
  await createGroup(source);
  const { message } = await assertRejects(
    () => convert(source, new MemoryStore(), LAYOUT),
    MetadataError,
    'the option "keepGoing" leaves the node out (at /cut/zarr.json in MemoryStore',
  );
  assert(message.includes("; nor are the documents of "), message);
  const named = PATHS.filter((path) => message.includes(`/${path}`));
  assertEquals(named.length, 4, message);
  const target = new MemoryStore();
  const options = { ...LAYOUT, keepGoing: true };
  const dry = await convert(source, target, { ...options, dryRun: true });
  const conversion = await convert(source, target, options);
  for (const { leftOut } of [dry, conversion]) {
    assertEquals(leftOut.map(({ path }) => path).sort(), PATHS);
    for (const { path, message } of leftOut) {
      assert(message.includes(`/${path}/zarr.json`), message);
    }
  }
  assertEquals((await Array.fromAsync(target.list())).sort(), [
    ...["/a/c/1/1.bin", "/a/zarr.json"],
    ...["/list/z/c/1/1.bin", "/list/z/zarr.json"],
    ...["/readme.txt", "/sub/zarr.json", "/zarr.json"],
  ]);
  await assertGood(target);
  const { consolidated_metadata } = await readJson(target, "/zarr.json");
  assertEquals(Object.keys(consolidated_metadata.metadata), ["a"]);
  assertEquals((await verify(target)).findings, []);
  // The outermost node cannot be left out.
  await source.set("/zarr.json", encodeJson([]));
  await assertRejects(
    () => convert(source, new MemoryStore(), options),
    MetadataError,
    "at /zarr.json in",
  );
});

Deno.test("convert with keepGoing copies shares, finishes and resumes like any other", async () => {
  const source = new MemoryStore();
  await createGroup(source);
  const target = new MemoryStore();
  const options = { ...LAYOUT, keepGoing: true };
  for (const index of [1, 0, 2]) {
    await convert(source, target, { ...options, share: { index, count: 3 } });
  }
  assertEquals(
    (await convert(source, target, { ...options, resume: true })).isFinished,
    true,
  );
  await assertGood(target);
  const again = await convert(source, target, { ...options, resume: true });
  assertEquals([again.copied, again.leftOut.length], [0, PATHS.length]);
});

Deno.test("convertInPlace names a node that is not valid, or leaves such nodes as they are with keepGoing", async () => {
  await inTempDir(async (folder) => {
    const store = new FileSystemStore(folder);
    await createGroup(store);
    await assertRejects(
      () => convertInPlace(store, LAYOUT),
      MetadataError,
      'the option "keepGoing" leaves the node out (at /cut/zarr.json',
    );
    const before = await readJson(store, "/zarr.json");
    const { leftOut } = await convertInPlace(store, {
      ...LAYOUT,
      keepGoing: true,
    });
    assertEquals(leftOut.map(({ path }) => path).sort(), PATHS);
    await assertGood(store);
    for (const [path, bytes] of Object.entries(BAD)) {
      assertEquals(await store.get(`/${path}/zarr.json`), bytes);
      assertEquals(await store.size(`/${path}/c/0/0`), 16);
    }
    const { metadata } =
      (await readJson(store, "/zarr.json")).consolidated_metadata;
    assertEquals(
      metadata.keys,
      before.consolidated_metadata.metadata.keys as unknown,
    );
    assertEquals(metadata.a.chunk_key_encoding.name, "suffix");
  });
});

Deno.test("inspect shows nodes that are not valid at their places, with the problem", async () => {
  const store = new MemoryStore();
  await createGroup(store);
  const { nodes } = await inspect(store);
  assertEquals(
    nodes.map(({ path }) => path),
    ["", "a", "sub", "list/z", ...PATHS].sort(),
  );
  for (const node of nodes) {
    assertEquals(node.kind === "invalid", PATHS.includes(node.path));
    if (node.kind !== "invalid") continue;
    const { message } = await assertRejects(
      () => inspect(store, node.path),
      MetadataError,
    );
    assertEquals(node.message, message);
  }
});

Deno.test("inspect shows a damaged index of an array in a group, and the other arrays", async () => {
  const store = new MemoryStore();
  await createGroup(store);
  const metadata = arrayMetadata({
    codecs: [{
      name: "sharding_indexed",
      configuration: {
        chunk_shape: [2, 2],
        codecs: [{ name: "bytes" }],
        index_codecs: [
          { name: "bytes", configuration: { endian: "little" } },
          { name: "crc32c" },
        ],
      },
    }],
  });
  const chunks = await createArrayChunks(store, "shards", metadata);
  await store.set("/shards/c/0/0", new Uint8Array(100));
  const { nodes } = await inspect(store);
  const node = nodes.find(({ path }) => path === "shards");
  assert(node?.kind === "array");
  assertEquals(node.chunk, undefined);
  assert(node.damage?.includes(chunks.key([0, 0])), node.damage);
});

/** A store that fails to read some keys. */
function failing(store: MemoryStore, ...keys: StoreKey[]): Store {
  return {
    get(key, options) {
      if (keys.includes(key)) return Promise.reject(new Error(`EIO at ${key}`));
      return store.get(key, options);
    },
    list: (prefix, options) => store.list(prefix, options),
  };
}

Deno.test("verify ends at what the store fails to read, or goes on with keepGoing", async () => {
  const store = new MemoryStore();
  for (const path of ["a", "b"]) {
    const chunks = await createArrayChunks(store, path, arrayMetadata());
    for (const i of [0, 1]) await chunks.set([i, 0], new Uint8Array(16));
  }
  await store.set("/zarr.json", encodeJson(groupMetadata()));
  for (
    const [key, chunks, others] of [
      ["/a/c/0/0", 3, []],
      ["/b/zarr.json", 2, [["values-unexplained", "/b/c/0/0"]]],
    ] as const
  ) {
    const damaged = failing(store, key);
    await assertRejects(() => verify(damaged), Error, `EIO at ${key}`);
    const result = await verify(damaged, "", { keepGoing: true });
    assertEquals(
      result.findings.map(({ rule, key }) => [rule, key]).sort(),
      [["unreadable", key], ...others],
    );
    assertEquals([result.chunks, result.isSound], [chunks, false]);
  }
});

Deno.test("verify warns of NaN and infinities in documents", async () => {
  const store = new MemoryStore();
  await createGroup(store);
  const text = (await readText(store, "/a/zarr.json"))
    .replace("1.50", "-Infinity");
  await store.set("/a/zarr.json", utf8(text));
  const { findings } = await verify(store, "a");
  assertEquals(
    findings.map(({ rule, severity, key }) => [rule, severity, key]),
    [
      ["metadata-not-json", "warning", "/a/zarr.json"],
    ],
  );
  await store.set("/a/zarr.json", utf8(text.replace("-Infinity", '"NaN"')));
  assertEquals((await verify(store, "a")).findings, []);
});

Deno.test("the command line leaves nodes out with --keep-going, ends with status 1 and lists them", async () => {
  await inTempDir(async (folder) => {
    const [source, target] = [`${folder}/a.zarr`, `${folder}/b.zarr`];
    await createGroup(new FileSystemStore(source));
    const tree = await runCli("inspect", source);
    assertEquals(tree.code, 0);
    for (const path of PATHS) {
      const name = path.split("/").at(-1);
      assert(tree.out.includes(`── ${name}  not valid: `), tree.out);
    }
    const convert = ["convert", source, target, "--suffix", ".bin"];
    const refused = await runCli(...convert);
    assertEquals(refused.code, 1);
    assert(refused.err.includes("--keep-going leaves the node out"));
    const done = await runCli(...convert, "--keep-going");
    assertEquals(done.code, 1);
    for (const path of PATHS) {
      assert(done.out.includes(`left out /${path}: `), done.out);
    }
    await assertGood(new FileSystemStore(target));
    const inPlace = ["convert", "--in-place", source, "--suffix", ".bin"];
    const json = await runCli(...inPlace, "--keep-going", "--json");
    assertEquals(json.code, 1);
    assertEquals(JSON.parse(json.out).leftOut.length, PATHS.length);
    const found = await runCli("verify", source, "--keep-going");
    assertEquals(found.code, 1);
    assertEquals(found.out.split("metadata-invalid").length - 1, 7);
  });
});
