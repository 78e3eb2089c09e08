import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import * as zarr from "zarrita";
import {
  createArrayChunks,
  HttpStore,
  MemoryStore,
  MetadataError,
  openArrayChunks,
  plainView,
  type Store,
  type StoreKey,
  v2View,
} from "../../mod.ts";
import { withZarrParts } from "../../zarrita.ts";
import { serve, storeHandler } from "../stores/loopback.ts";
import { listed } from "../stores/store_values.ts";
import {
  encodeJson,
  readJson,
  readText,
  utf8,
  V2_GROUP,
  v2Metadata,
} from "../support/documents.ts";
import { arrayMetadata } from "../support/metadata.ts";
import { assertListsSame, assertReadsSame } from "../support/same_store.ts";
import { STORES } from "./every_store.ts";

const V2_ARRAY = v2Metadata({ dtype: ">u2", fill_value: 7, order: "F" });
/** A chunk of an array with the order F: 0 to 3 by columns. */
const CHUNK = new Uint8Array([0, 0, 0, 1, 0, 2, 0, 3]);

/** The stored values of a group of Zarr v2 with arrays of both versions. */
async function valuesOfGroup(): Promise<Map<StoreKey, Uint8Array>> {
  const values = new Map<StoreKey, Uint8Array>([
    ["/.zgroup", encodeJson(V2_GROUP)],
    ["/.zattrs", utf8('{"n": 1.0, "x": NaN}')],
    ["/a/.zarray", encodeJson(V2_ARRAY)],
    ["/a/.zattrs", encodeJson({ _ARRAY_DIMENSIONS: ["y", "x"] })],
    ["/a/0.0", CHUNK],
    ["/a/notes.txt", utf8("notes")],
    ["/both/.zarray", encodeJson(V2_ARRAY)],
    ["/both/.zgroup", encodeJson(V2_GROUP)],
    ["/bad/.zarray", encodeJson({ ...V2_ARRAY, dtype: "|O" })],
    ["/lone/.zattrs", encodeJson({})],
    ["/g/.zgroup", encodeJson(V2_GROUP)],
    [
      "/.zmetadata",
      encodeJson({
        zarr_consolidated_format: 1,
        metadata: {
          ".zgroup": V2_GROUP,
          "a/.zarray": V2_ARRAY,
          "a/.zattrs": { _ARRAY_DIMENSIONS: ["y", "x"] },
          "both/.zarray": V2_ARRAY,
          "bad/.zarray": { ...V2_ARRAY, dtype: "|O" },
          "g/.zgroup": V2_GROUP,
          "new/.zarray": V2_ARRAY,
          "../outside/.zarray": V2_ARRAY,
        },
      }),
    ],
  ]);
  const migrated = new MemoryStore();
  await createArrayChunks(migrated, "new", arrayMetadata());
  values.set("/new/zarr.json", (await migrated.get("/new/zarr.json"))!);
  values.set("/new/.zarray", encodeJson(V2_ARRAY));
  return values;
}

const SHOWN: StoreKey[] = [
  "/a/0.0",
  "/a/notes.txt",
  "/a/zarr.json",
  "/bad/zarr.json",
  "/both/zarr.json",
  "/g/zarr.json",
  "/new/zarr.json",
  "/zarr.json",
];

for (const [name, { lacks, open }] of Object.entries(STORES)) {
  Deno.test(`v2View shows nodes of Zarr v2 in ${name}`, async () => {
    const { store, fill, close } = await open();
    try {
      const values = await valuesOfGroup();
      for (const [key, bytes] of values) await fill(key, bytes);
      const view = v2View(store) as Store & ReturnType<typeof plainView>;
      for (const method of ["set", "list"] as const) {
        assertEquals(method in view, !lacks.includes(method), method);
      }
      if (view.list) assertEquals(await listed(view), SHOWN);
      const a = await openArrayChunks(view, "a");
      assertEquals(a.metadata.dimension_names, ["y", "x"]);
      assertEquals(a.gridShape, [2, 1]);
      assertEquals(await a.get([0, 0]), CHUNK);
      const range = { offset: 2, length: 3 };
      assertEquals(await a.getRange([0, 0], range), CHUNK.subarray(2, 5));
      assertEquals(await a.get([1, 0]), undefined);
      for (const key of values.keys()) {
        const isV2 = key.includes("/.z");
        await assertReadsSame(view, key, isV2 ? undefined : values.get(key));
      }
      const document = (await view.get("/a/zarr.json"))!;
      await assertReadsSame(view, "/a/zarr.json", document);
      const text = await readText(view, "/zarr.json");
      assertEquals(text.includes('"n": 1.0'), true, text);
      assertEquals(text.includes('"x": "NaN"'), true, text);
      const root = JSON.parse(text);
      assertEquals(
        Object.keys(root.consolidated_metadata.metadata),
        ["a", "both", "g", "new"],
      );
      // The .zmetadata may say where the chunks were before.
      assertEquals(
        root.consolidated_metadata.metadata.new,
        await readJson(view, "/new/zarr.json"),
      );
      assertEquals(
        (await readJson(view, "/both/zarr.json")).node_type,
        "array",
      );
      await openArrayChunks(view, "new");
      const error = await assertRejects(
        () => openArrayChunks(view, "bad"),
        MetadataError,
        'Expected a filter "vlen-utf8"',
      );
      assertEquals(error.message.includes("/bad/.zarray#/dtype"), true);
    } finally {
      await close?.();
    }
  });
}

Deno.test("v2View lists the keys with any prefix", async () => {
  const values = await valuesOfGroup();
  const shown = new MemoryStore(
    SHOWN.map((key) => [key, new Uint8Array()]),
  );
  await assertListsSame(v2View(new MemoryStore(values)), shown);
});

Deno.test("v2View passes changes of chunks on, and refuses those of documents of Zarr v2", async () => {
  const store = new MemoryStore(await valuesOfGroup());
  const view = v2View(store);
  const chunks = await openArrayChunks(view, "a");
  await chunks.set([1, 0], CHUNK);
  assertEquals(await store.get("/a/1.0"), CHUNK);
  await chunks.delete([0, 0]);
  assertEquals(await store.get("/a/0.0"), undefined);
  for (
    const key of ["/a/zarr.json", "/a/.zattrs", "/x/.zarray"] as StoreKey[]
  ) {
    await assertRejects(
      () => view.set(key, new Uint8Array()),
      RangeError,
      `Cannot change "${key}", a document of a Zarr v2 node`,
    );
    await assertRejects(() => view.delete(key), RangeError, "Cannot change");
  }
  await assertRejects(
    () => createArrayChunks(view, "a", arrayMetadata()),
    MetadataError,
    "there",
  );
  await createArrayChunks(view, "fresh", arrayMetadata());
  assertEquals(await store.size("/fresh/zarr.json") !== undefined, true);
  await view.delete("/new/zarr.json");
  assertEquals(await store.get("/new/zarr.json"), undefined);
  assertThrows(() => v2View(5 as unknown as Store), TypeError);
});

Deno.test("zarrita reads equal elements of Zarr v2 itself, and through v2View", async () => {
  const store = new MemoryStore(await valuesOfGroup());
  const own = await zarr.open.v2(zarr.root(store).resolve("a"), {
    kind: "array",
  });
  const expected = await zarr.get(own);
  for (
    const shown of [
      v2View(store),
      withZarrParts(v2View(store)),
      plainView(v2View(store)),
    ]
  ) {
    const root = zarr.root(shown as zarr.AsyncReadable);
    const array = await zarr.open.v3(root.resolve("a"), { kind: "array" });
    const { data, shape, stride } = await zarr.get(array);
    assertEquals(shape, expected.shape);
    const at = (data: ArrayLike<unknown>, stride: readonly number[]) =>
      [0, 1, 2].map((i) =>
        [0, 1].map((j) => data[i * stride[0]! + j * stride[1]!])
      );
    assertEquals(
      at(data as Uint16Array, stride),
      [[0, 2], [1, 3], [7, 7]],
    );
    assertEquals(
      at(expected.data as Uint16Array, expected.stride),
      [[0, 2], [1, 3], [7, 7]],
    );
    const group = await zarr.open.v3(root, { kind: "group" });
    assertEquals(group.attrs.n, 1);
  }
});

Deno.test("zarr.json of a group of Zarr v2 names all nodes over HTTP, where nothing lists", async () => {
  const { url, close } = serve(
    storeHandler(new MemoryStore(await valuesOfGroup())),
  );
  try {
    const view = v2View(new HttpStore(url));
    const { consolidated_metadata } = await readJson(view, "/zarr.json");
    assertEquals(consolidated_metadata.kind, "inline");
    assertEquals(consolidated_metadata.must_understand, false);
    assertEquals(
      consolidated_metadata.metadata.a,
      await readJson(view, "/a/zarr.json"),
    );
  } finally {
    await close();
  }
});
