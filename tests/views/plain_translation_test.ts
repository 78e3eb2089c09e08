import { assertEquals, assertStrictEquals } from "@std/assert";
import fc from "fast-check";
import { createArrayChunks, MemoryStore, plainView } from "../../mod.ts";
import { changeNodes } from "../../src/metadata/node_documents.ts";
import { isTranslated, PLAIN as VIEW } from "../../src/views/plain_view.ts";
import {
  encodeJson,
  groupMetadata,
  readJson,
  readText,
  utf8,
} from "../support/documents.ts";
import { anyHierarchy, storedAndPlain } from "../support/hierarchy.ts";
import { IN_PARTS } from "../support/in_parts.ts";
import { arrayMetadata, concatParts } from "../support/metadata.ts";

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
