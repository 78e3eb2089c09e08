import fc from "fast-check";
import { assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import { createArrayChunks, MemoryStore, plainView } from "../../mod.ts";
import { changeNodes } from "../../src/metadata/node_documents.ts";
import { PLAIN as VIEW } from "../../src/views/plain_view.ts";
import {
  encodeJson,
  groupMetadata,
  readJson,
  readText,
  utf8,
} from "../support/documents.ts";
import { anyHierarchy, storedAndPlain } from "../support/hierarchy.ts";
import { arrayInParts, IN_PARTS } from "../support/in_parts.ts";
import { arrayMetadata } from "../support/metadata.ts";
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

const BYTES = Uint8Array.of(1, 2, 3, 4, 5);
const DOCUMENT = "/a/zarr.json";

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
