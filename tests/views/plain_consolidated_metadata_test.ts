import { assertEquals, assertRejects } from "@std/assert";
import { createArrayChunks, MemoryStore, plainView } from "../../mod.ts";
import {
  groupMetadata,
  readJson,
  readText,
  utf8,
} from "../support/documents.ts";
import { IN_PARTS } from "../support/in_parts.ts";
import { arrayMetadata } from "../support/metadata.ts";
import { fromPlain, toPlain } from "../support/plain_documents.ts";

const PLAIN_KEYS = { name: "default", configuration: { separator: "/" } };
const PLAIN = arrayMetadata();
const V2 = arrayMetadata({ chunk_key_encoding: "v2" });
const PARTS = arrayMetadata(IN_PARTS);

/** As a view shows {@linkcode V2} and {@linkcode PARTS}. */
const SHOWN = arrayMetadata({ chunk_key_encoding: PLAIN_KEYS });

Deno.test("toPlain changes arrays in consolidated metadata, at any depth", () => {
  const group = (array: unknown): Record<string, unknown> => ({
    ...groupMetadata({
      a: array,
      "b/c": array,
      plain: PLAIN,
      b: groupMetadata({ c: array }),
      ...JSON.parse(`{"__proto__": ${JSON.stringify(array)}}`),
    }),
    extra: 1,
  });
  const plain = toPlain(group(PARTS)) as Record<string, unknown>;
  assertEquals(plain, group(SHOWN));
  assertEquals(
    JSON.stringify(plain.consolidated_metadata),
    JSON.stringify(group(SHOWN).consolidated_metadata),
  );
});

Deno.test("fromPlain gives arrays in consolidated metadata back theirs", () => {
  const stored = new Map(
    Object.entries({ a: V2, "b/c": PARTS, gone: V2, d: PLAIN }),
  );
  const attributes = { a: 1 };
  assertEquals(
    fromPlain(
      groupMetadata({
        d: PLAIN,
        "b/c": { ...SHOWN, attributes },
        a: PARTS,
        constructor: SHOWN,
      }),
      stored,
    ),
    groupMetadata({
      d: PLAIN,
      "b/c": { ...PARTS, attributes },
      a: PARTS,
      constructor: SHOWN,
    }),
  );
});

Deno.test("plainView shows arrays in consolidated metadata plain, and takes them back so", async () => {
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

Deno.test("plainView gives arrays back theirs where a group is consolidated for the first time", async () => {
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

Deno.test("plainView mends a document that cannot be read, and lists beside it", async () => {
  const stored = new MemoryStore([["/b/zarr.json", new Uint8Array()]]);
  await createArrayChunks(stored, "a", PARTS);
  const view = plainView(stored);
  assertEquals((await Array.fromAsync(view.list())).sort(), [
    "/a/zarr.json",
    "/b/zarr.json",
  ]);
  await view.set("/b/zarr.json", utf8(JSON.stringify(PLAIN)));
  assertEquals(
    await readJson(view, "/b/zarr.json"),
    JSON.parse(JSON.stringify(PLAIN)),
  );
});

Deno.test("plainView refuses a chunk key of which a number is too large for any grid", async () => {
  const stored = new MemoryStore();
  await createArrayChunks(stored, "a", PARTS);
  await assertRejects(
    () => plainView(stored).get("/a/c/99999999999999999999/0"),
    RangeError,
    "is outside the chunk grid of its array",
  );
});
