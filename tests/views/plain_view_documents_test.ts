import fc from "fast-check";
import { assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import {
  createArrayChunks,
  MemoryStore,
  openArrayChunks,
  plainView,
} from "../../mod.ts";
import { changeNodes } from "../../src/metadata/node_documents.ts";
import { isTranslated, PLAIN as VIEW } from "../../src/views/plain_view.ts";
import { streamOf } from "../stores/store_values.ts";
import {
  encodeJson,
  groupMetadata,
  readJson,
  readText,
  utf8,
} from "../support/documents.ts";
import { anyHierarchy, storedAndPlain } from "../support/hierarchy.ts";
import { arrayInParts, IN_PARTS } from "../support/in_parts.ts";
import { arrayMetadata, concatParts } from "../support/metadata.ts";
import { observed } from "../support/observed_store.ts";

/** Converts a document, and its consolidated metadata, to its plain view. */
function toPlain(document: unknown): unknown {
  return changeNodes(document, VIEW.toShown);
}

/** Converts a document that is written through a plain view to the one that is stored. */
function fromPlain(
  document: unknown,
  stored: ReadonlyMap<string, unknown>,
): unknown {
  return changeNodes(
    document,
    (node, path) => VIEW.toStored(node, stored.get(path)),
  );
}

const PLAIN_KEYS = { name: "default", configuration: { separator: "/" } };
const PLAIN = arrayMetadata();
const PARTS = arrayMetadata(IN_PARTS);

/** The document that a view shows for {@linkcode PARTS}. */
const SHOWN = arrayMetadata({ chunk_key_encoding: PLAIN_KEYS });

const NOT_TRANSLATED: unknown[] = [
  PLAIN,
  arrayMetadata({ chunk_key_encoding: "default" }),
  arrayMetadata({ chunk_key_encoding: PLAIN_KEYS }),
  arrayMetadata({ chunk_key_encoding: { name: "default" } }),
  arrayMetadata({
    chunk_key_encoding: { name: "default", configuration: {} },
  }),
  arrayMetadata({ storage_transformers: [] }),
  groupMetadata(),
  groupMetadata({}),
  groupMetadata({ a: PLAIN, "b/c": groupMetadata() }),
  { ...groupMetadata(), consolidated_metadata: null },
  { ...groupMetadata(), consolidated_metadata: { metadata: null } },
  { ...groupMetadata(), consolidated_metadata: { metadata: [PARTS] } },
  { ...groupMetadata(), consolidated_metadata: [PARTS] },
  { ...groupMetadata(), attributes: PARTS },
  { ...PARTS, node_type: "group" },
  { ...PARTS, zarr_format: 2 },
  [PARTS],
  "array",
  4,
  true,
  null,
];

Deno.test("isTranslated recognizes arrays with other keys or with transformers", () => {
  for (const document of NOT_TRANSLATED) {
    assertEquals(isTranslated(document), false);
  }
  for (
    const changes of [
      { chunk_key_encoding: "v2" },
      { chunk_key_encoding: "suffix" },
      { chunk_key_encoding: { name: "v2" } },
      {
        chunk_key_encoding: {
          name: "default",
          configuration: { separator: "." },
        },
      },
      { chunk_key_encoding: { name: "default", configuration: "." } },
      { chunk_key_encoding: undefined },
      { chunk_key_encoding: null },
      { storage_transformers: [concatParts({ key_suffix: "" })] },
      { storage_transformers: ["hint"] },
      IN_PARTS,
    ]
  ) {
    assertEquals(isTranslated(arrayMetadata(changes)), true);
  }
});

Deno.test("toPlain and fromPlain return the same object if nothing changes", () => {
  for (const document of NOT_TRANSLATED) {
    assertStrictEquals(toPlain(document), document);
    for (const stored of [...NOT_TRANSLATED, undefined]) {
      assertStrictEquals(
        fromPlain(document, new Map([["", stored]])),
        document,
      );
    }
  }
});

Deno.test("fromPlain is the inverse of toPlain for any node", async () => {
  await fc.assert(
    fc.asyncProperty(anyHierarchy, async (hierarchy) => {
      const { stored, plain } = await storedAndPlain(hierarchy);
      for await (const key of stored.list()) {
        if (!key.endsWith("/zarr.json")) continue;
        const document = await readJson(stored, key);
        const shown = toPlain(document);
        assertEquals(shown, await readJson(plain, key));
        assertStrictEquals(toPlain(shown), shown);
        const members = Object.entries<unknown>(
          document.consolidated_metadata?.metadata ?? {},
        );
        const before = new Map([["", document], ...members]);
        assertEquals(fromPlain(shown, before), document);
      }
    }),
    { numRuns: 50 },
  );
});

Deno.test("plainView reads and writes plain arrays byte by byte", async () => {
  for (
    const text of [
      ` ${JSON.stringify(arrayMetadata(), null, "\t")}\r\n`,
      `${JSON.stringify(groupMetadata({ x: arrayMetadata() }))}`,
      '{"zarr_format":3,"node_type":"group","n":1.0e1,"n":2}',
      JSON.stringify({ ...arrayMetadata(IN_PARTS), zarr_format: 2 }),
      "null",
    ]
  ) {
    const stored = new MemoryStore();
    const view = plainView(stored);
    await view.set("/a/zarr.json", utf8(text));
    assertEquals(await readText(stored, "/a/zarr.json"), text);
    assertEquals(await readText(view, "/a/zarr.json"), text);
    await view.set("/a/zarr.json", utf8(` ${text}`));
    assertEquals(await readText(stored, "/a/zarr.json"), ` ${text}`);
  }
});

Deno.test("plainView does not change Zarr v2 documents", async () => {
  const stored = new MemoryStore();
  const view = plainView(stored);
  const bytes = encodeJson({ ...arrayMetadata(IN_PARTS), zarr_format: 2 });
  for (const name of [".zarray", ".zgroup", ".zattrs", ".zmetadata"] as const) {
    await view.set(`/a/${name}`, bytes);
    assertEquals(await view.get(`/a/${name}`), bytes);
    assertEquals(await stored.get(`/a/${name}`), bytes);
    await view.set(`/a/${name}`, utf8("no JSON"));
  }
});

Deno.test("plainView converts arrays in consolidated metadata, and back when the group is written", async () => {
  const big = '"fill_value":18446744073709551615';
  const textOf = (array: unknown, attributes: Record<string, unknown> = {}) =>
    JSON.stringify({
      ...groupMetadata({ "g/a": array, "g": groupMetadata(), "b": PLAIN }),
      attributes,
    }).replaceAll('"fill_value":0', big);
  const stored = new MemoryStore([["/zarr.json", utf8(textOf(PARTS))]]);
  await createArrayChunks(stored, "g/a", PARTS);
  const view = plainView(stored);
  const pretty = (text: string) =>
    JSON.stringify(JSON.parse(text), null, 2)
      .replaceAll(/"fill_value": 1\d+/g, big.replace(":", ": ")) + "\n";
  assertEquals(await readText(view, "/zarr.json"), pretty(textOf(SHOWN)));

  await view.set("/zarr.json", utf8(textOf(SHOWN, { seen: true })));
  assertEquals(
    await readText(view, "/zarr.json"),
    pretty(textOf(SHOWN, { seen: true })),
  );
  assertEquals(
    await readJson(stored, "/zarr.json"),
    JSON.parse(textOf(PARTS, { seen: true })),
  );
  assertEquals(
    (await readText(stored, "/zarr.json")).split(": 18446744073709551615")
      .length,
    3,
  );
});

Deno.test("plainView restores keys and transformers when a group is first consolidated", async () => {
  const stored = new MemoryStore();
  await createArrayChunks(stored, "g/a", PARTS);
  const view = plainView(stored);
  const shown = await readJson(view, "/g/a/zarr.json");
  const nested = groupMetadata({ "g": groupMetadata({ a: shown }) });
  const nestedStored = groupMetadata({ "g": groupMetadata({ a: PARTS }) });
  const groups = [
    [groupMetadata({ "g/a": shown }), groupMetadata({ "g/a": PARTS })],
    [nested, nestedStored],
  ];
  for (const [group, expected] of groups) {
    await view.set("/zarr.json", utf8(JSON.stringify(group)));
    assertEquals(await readJson(view, "/zarr.json"), group);
    assertEquals(await readJson(stored, "/zarr.json"), expected);
  }
});

const BYTES = Uint8Array.of(1, 2, 3, 4, 5);
const DOCUMENT = "/a/zarr.json";

Deno.test("plainView keeps all other members of a document", async () => {
  const text =
    `{"zarr_format":3,"extra":{"must_understand":false,"n":1.0},"node_type":"array","shape":[10,7],
"chunk_key_encoding":{"name":"suffix","configuration":{"suffix":".bin"}},
"data_type":"uint64","fill_value":18446744073709551615,
"storage_transformers":[{"name":"x","must_understand":false}],
"attributes":{"z":1e400,"__proto__":{"a":-0},"\\u00e9":"\\ud800"}}`;
  const view = plainView(new MemoryStore([[DOCUMENT, utf8(text)]]));
  assertEquals(
    await readText(view, DOCUMENT),
    `{
  "zarr_format": 3,
  "extra": {
    "must_understand": false,
    "n": 1.0
  },
  "node_type": "array",
  "shape": [
    10,
    7
  ],
  "chunk_key_encoding": {
    "name": "default",
    "configuration": {
      "separator": "/"
    }
  },
  "data_type": "uint64",
  "fill_value": 18446744073709551615,
  "attributes": {
    "z": 1e400,
    "__proto__": {
      "a": -0
    },
    "é": "\\ud800"
  }
}
`,
  );
});

Deno.test("plainView keeps keys and transformers when a document is written back", async () => {
  const { stored, chunks } = await arrayInParts("a", {
    data_type: "uint64",
    fill_value: 0,
    dimension_names: ["y", "x"],
  });
  await chunks.set([0, 1], BYTES);
  const before = await readText(stored, DOCUMENT);
  const view = plainView(stored);
  const shown = (await readText(view, DOCUMENT))
    .replace('"fill_value": 0', '"fill_value": 18446744073709551615');
  for (const bytes of [utf8(shown), streamOf(utf8(shown))]) {
    await view.set(DOCUMENT, bytes);
    assertEquals(await readText(view, DOCUMENT), shown);
  }
  assertEquals(await readJson(stored, DOCUMENT), {
    ...JSON.parse(before),
    fill_value: 2 ** 64,
  });
  assertEquals(
    (await readText(stored, DOCUMENT)).includes(": 18446744073709551615"),
    true,
  );
  assertEquals(await view.get("/a/c/0/1"), BYTES);
  assertEquals(
    (await openArrayChunks(stored, "a")).key([0, 1]),
    "/a/c/0/1.bin",
  );
});

Deno.test("plainView finds chunks of a grid that a written document enlarges", async () => {
  const { stored } = await arrayInParts("a");
  const view = plainView(stored);
  await assertRejects(() => view.set("/a/c/3/0", BYTES), RangeError);
  const shown = await readJson(view, DOCUMENT);
  await view.set(DOCUMENT, encodeJson({ ...shown, shape: [13, 7] }));
  await view.set("/a/c/3/0", BYTES);
  assertEquals(await stored.get("/a/c/3/0.bin"), BYTES.slice(0, 3));
});

Deno.test("plainView stores a document with keys or transformers as given", async () => {
  const { stored } = await arrayInParts("a");
  const view = plainView(stored);
  await view.set("/a/c/0/1", BYTES);
  const v2 = arrayMetadata({ chunk_key_encoding: "v2" });
  await view.set(DOCUMENT, encodeJson(v2));
  assertEquals(await stored.get(DOCUMENT), encodeJson(v2));
  assertEquals(await view.get("/a/c/0/1"), undefined);
  await view.set("/a/c/0/1", BYTES);
  assertEquals(await stored.get("/a/0.1"), BYTES);
  assertEquals((await readJson(view, DOCUMENT)).chunk_key_encoding, PLAIN_KEYS);
});

Deno.test("plainView drops cached metadata when a document is deleted", async () => {
  const { stored } = await arrayInParts("a");
  const view = plainView(stored);
  await view.set("/a/c/0/1", BYTES);
  await view.delete("/a/c/0/1");
  await view.delete(DOCUMENT);
  assertEquals(await stored.get(DOCUMENT), undefined);
  await view.set("/a/c/0/1", BYTES);
  assertEquals(await stored.get("/a/c/0/1"), BYTES);
  await view.delete("/a/c/0/1");
  await view.set(DOCUMENT, encodeJson(arrayMetadata()));
  await view.set("/a/c/2/1", BYTES);
  assertEquals(await stored.get("/a/c/2/1"), BYTES);
  await view.delete(DOCUMENT);
  const v2 = arrayMetadata({ chunk_key_encoding: "v2" });
  await view.set(DOCUMENT, encodeJson(v2));
  await view.set("/a/c/2/1", BYTES);
  assertEquals(await stored.get("/a/2.1"), BYTES);
});

Deno.test("plainView drops cached metadata when writing a document fails", async () => {
  const { stored } = await arrayInParts("a");
  const view = plainView({
    ...observed(stored, () => {}),
    async set(key, value) {
      await stored.set(key, value);
      throw new Error("no answer");
    },
  });
  assertEquals(await view.get("/a/c/0/1"), undefined);
  const v2 = encodeJson(arrayMetadata({ chunk_key_encoding: "v2" }));
  await assertRejects(() => view.set!(DOCUMENT, v2), Error, "no answer");
  await stored.set("/a/0.1", BYTES);
  assertEquals(await view.get("/a/c/0/1"), BYTES);
});
