import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import {
  convert,
  inspect,
  type InspectedArray,
  type InspectedGroup,
  type InspectedPart,
  type InspectOptions,
  type LayoutOptions,
} from "../../jobs.ts";
import {
  ChecksumError,
  FileSystemStore,
  MemoryStore,
  MetadataError,
  type Store,
} from "../../mod.ts";
import { runCli } from "../cli/run_cli.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import {
  encodeJson,
  groupMetadata,
  readJson,
  utf8,
} from "../support/documents.ts";
import { observed } from "../support/observed_store.ts";
import { checksummed, checksummedMetadata } from "./checksummed.ts";

async function inspectArray(
  store: Store,
  path: string,
  options?: InspectOptions,
): Promise<InspectedArray> {
  const { nodes } = await inspect(store, path, options);
  assertEquals(nodes[0]!.kind, "array");
  return nodes[0] as InspectedArray;
}

/** The contents of the parts of a shard that ends with an index of 36 bytes and a checksum. */
const AT_END: [LayoutOptions["parts"], InspectedPart["holds"][]][] = [
  [[], [["data", "index", "checksum"]]],
  [["", ".index", ".crc32c"], [["data"], ["index"], ["checksum"]]],
  [["", ".tail:40"], [["data"], ["index", "checksum"]]],
  [["", ".tail:41"], [["data"], ["data", "index", "checksum"]]],
  [["", ".a:20", ".b:20"], [["data"], ["index"], ["index", "checksum"]]],
  [[".head:5", ""], [["data"], ["data", "index", "checksum"]]],
  [[".all:9", ".rest", ".x:1", ".y:3"], [
    ["data"],
    ["data", "index"],
    ["checksum"],
    ["checksum"],
  ]],
];
const AT_START: typeof AT_END = [
  [[".index:36", ""], [["index"], ["data", "checksum"]]],
  [[".index:36", "", ".sum:4"], [["index"], ["data"], ["checksum"]]],
  [[".head:40", ""], [["data", "index"], ["data", "checksum"]]],
];

Deno.test("inspect tells what each part holds", async () => {
  for (
    const [location, cases] of [["end", AT_END], ["start", AT_START]] as const
  ) {
    const plain = new MemoryStore();
    await checksummed(plain, 50, "", checksummedMetadata(location));
    for (const [parts, expected] of cases) {
      const store = new MemoryStore();
      await convert(plain, store, { parts });
      const array = await inspectArray(store, "");
      assertEquals(
        array.parts.map(({ holds }) => holds),
        expected,
        String(parts),
      );
    }
  }
});

Deno.test("inspect describes a chunk, its parts and its inner chunks", async () => {
  const plain = new MemoryStore();
  await checksummed(plain, 50);
  const store = new MemoryStore();
  await convert(plain, store, {
    suffix: ".s",
    parts: [".h:3", "", ".index", ".crc32c"],
  });
  const { chunk, stored, gridShape, chunkShape, innerChunkShape } =
    await inspectArray(store, "", { chunk: [1, 2], sizes: true });
  assertEquals([gridShape, chunkShape, innerChunkShape], [[2, 3], [2, 2], [
    1,
    2,
  ]]);
  // Inner chunks of 50 to 52 bytes and 1 byte, the second of which one shard lacks.
  assertEquals(stored, { chunks: 3, absent: 3, bytes: 91 + 91 + 93 });
  assertEquals(chunk, {
    coordinates: [1, 2],
    key: "/c/1/2.s",
    size: 91,
    parts: [
      { key: "/c/1/2.s.h", offset: 0, length: 3 },
      { key: "/c/1/2.s", offset: 3, length: 48 },
      { key: "/c/1/2.s.index", offset: 51, length: 36 },
      { key: "/c/1/2.s.crc32c", offset: 87, length: 4 },
    ],
    index: {
      offset: 51,
      length: 36,
      chunksPerShard: [2, 1],
      chunksInArray: [2, 1],
      present: 1,
      innerChunks: [{ offset: 0, length: 51 }, undefined],
    },
  });
});

Deno.test("inspect describes the first chunk that is stored, and absent ones", async () => {
  const store = new MemoryStore();
  await checksummed(store, 50);
  assertEquals((await inspectArray(store, "")).chunk?.size, 91);
  const blind = observed(store, () => {}, ["get"]);
  for (
    const [seen, options] of [[blind, {}], [store, { count: false }]] as const
  ) {
    const array = await inspectArray(seen, "", options);
    assertEquals(array.stored, undefined);
    assertEquals(array.chunk?.key, "/c/0/0");
  }
  const absent = await inspectArray(store, "", { chunk: [0, 1] });
  assertEquals(absent.chunk, {
    coordinates: [0, 1],
    key: "/c/0/1",
    size: undefined,
    parts: [],
    index: undefined,
  });
  await assertRejects(
    () => inspect(store, "", { chunk: [2, 0] }),
    RangeError,
    "not in the chunk grid",
  );
});

Deno.test("inspect describes all nodes of a group, in the order of their paths", async () => {
  const store = new MemoryStore();
  const group = { ...groupMetadata(), attributes: { title: "All" } };
  await store.set("/zarr.json", encodeJson(group));
  const bare = { ...groupMetadata(), attributes: null };
  await store.set("/b/zarr.json", encodeJson(bare));
  await store.set("/readme.txt", utf8("Text"));
  await checksummed(store, 50, "b/c");
  await checksummed(store, 50, "a");
  const { nodes } = await inspect(store);
  assertEquals(nodes.map(({ kind, path }) => [kind, path]), [
    ["group", ""],
    ["array", "a"],
    ["group", "b"],
    ["array", "b/c"],
  ]);
  assertEquals(nodes[0], {
    kind: "group",
    zarrFormat: 3,
    path: "",
    attributes: { title: "All" },
  });
  assertEquals((nodes[2] as InspectedGroup).attributes, {});
  const { nodes: below } = await inspect(store, "b");
  assertEquals(below.map(({ path }) => path), ["", "c"]);
});

Deno.test("inspect refuses what is no node, and a damaged index", async () => {
  const store = new MemoryStore();
  await checksummed(store, 50);
  await assertRejects(() => inspect(store, "x"), MetadataError, "No Zarr node");
  const bytes = (await store.get("/c/0/0"))!;
  bytes[bytes.length - 10]! ^= 1;
  await store.set("/c/0/0", bytes);
  await assertRejects(() => inspect(store), ChecksumError, "The index");
});

Deno.test("inspect sums up the lengths of all chunks of an array in files", async () => {
  const store = new FileSystemStore("tests/fixtures/dem.zarr");
  const { stored } = await inspectArray(store, "", { sizes: true });
  let bytes = 0;
  for await (const key of store.list("/c/")) bytes += (await store.size(key))!;
  assertEquals(stored, { chunks: 12, absent: 0, bytes });
});

Deno.test("inspect says which command finishes a conversion in place", async () => {
  await inTempDir(async (parent) => {
    const folder = `${parent}/my data`;
    const store = new FileSystemStore(folder);
    await store.set("/zarr.json", encodeJson(groupMetadata()));
    await checksummed(store, 20, "a");
    const command = `zarr-parts convert --in-place '${folder}'`;
    const inPlace = { phase: "prepare", documents: [], arrays: [] };
    await store.set("/.zarr-parts-unfinished.json", encodeJson({ inPlace }));
    for (const path of ["", "a"]) {
      assertEquals((await inspect(store, path)).unfinished, command);
    }
    const shown = await runCli("inspect", folder);
    assertEquals(shown.code, 0);
    assertStringIncludes(shown.err, `is unfinished, or another program `);
    assertStringIncludes(shown.err, `finish it by ${command}\n`);
    const metadata = await readJson(store, "/a/zarr.json");
    const encoding = {
      name: "unfinished, to be finished by: zarr-parts convert --in-place",
    };
    await store.set(
      "/a/zarr.json",
      encodeJson({ ...metadata as object, chunk_key_encoding: encoding }),
    );
    // The group shows the array as one that is not valid.
    const { nodes, unfinished } = await inspect(store);
    assertEquals(nodes.map(({ kind }) => kind), ["group", "invalid"]);
    assertEquals(unfinished, command);
    await assertRejects(
      () => inspect(store, "a"),
      Error,
      `in place is unfinished, or another program is at work on it; finish it first, by convertInPlace or ${command}`,
    );
    // The group above is not in the store.
    const { code, err } = await runCli("inspect", `${folder}/a`);
    assertEquals(code, 1);
    assertStringIncludes(
      err,
      "unfinished, to be finished by: zarr-parts convert --in-place",
    );
    await store.delete("/.zarr-parts-unfinished.json");
    await assertRejects(
      () => inspect(store, "a"),
      MetadataError,
      "Unknown chunk",
    );
  });
});
