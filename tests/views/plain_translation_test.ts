import { assertEquals, assertStrictEquals } from "@std/assert";
import fc from "fast-check";
import { MemoryStore, plainView } from "../../mod.ts";
import { isTranslated } from "../../src/views/plain_translation.ts";
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
import { fromPlain, toPlain } from "../support/plain_documents.ts";

const PLAIN_KEYS = { name: "default", configuration: { separator: "/" } };
const PLAIN = arrayMetadata();
const V2 = arrayMetadata({ chunk_key_encoding: "v2" });
const PARTS = arrayMetadata(IN_PARTS);

/** As a view shows {@linkcode V2} and {@linkcode PARTS}. */
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

Deno.test("isTranslated tells arrays whose keys are others, or that have transformers", () => {
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

Deno.test("toPlain and fromPlain give the same object where nothing changes", () => {
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

Deno.test("toPlain changes nothing but keys and transformers, and not their order", () => {
  const { codecs, ...rest } = PARTS;
  const document = { ...rest, codecs, dimension_names: ["y", null] };
  const before = structuredClone(document);
  const plain = toPlain(document) as Record<string, unknown>;
  const { storage_transformers: _, ...expected } = document;
  assertEquals(plain, { ...expected, chunk_key_encoding: PLAIN_KEYS });
  assertEquals(Object.keys(plain), Object.keys(expected));
  assertEquals(document, before);
});

Deno.test("fromPlain gives an array back its keys and transformers", () => {
  const changed = { ...SHOWN, attributes: { a: 1 }, shape: [1, 1] };
  for (const stored of [V2, PARTS]) {
    const expected = { ...stored, attributes: { a: 1 }, shape: [1, 1] };
    assertEquals(fromPlain(changed, new Map([["", stored]])), expected);
    assertEquals(
      fromPlain(
        { ...changed, storage_transformers: [] },
        new Map([["", stored]]),
      ),
      stored === V2 ? { ...expected, storage_transformers: [] } : expected,
    );
  }
});

Deno.test("fromPlain takes a document that is not plain, or no array, as it is", () => {
  for (const document of [V2, PARTS, groupMetadata(), null, [], 4]) {
    for (const stored of [V2, PARTS, PLAIN, undefined, null, "x"]) {
      assertStrictEquals(
        fromPlain(document, new Map([["", stored]])),
        document,
      );
    }
  }
});

Deno.test("fromPlain takes back what toPlain shows, of any node", async () => {
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

Deno.test("plainView shows and stores what is plain byte by byte", async () => {
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

Deno.test("plainView leaves the documents of Zarr v2 alone", async () => {
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
