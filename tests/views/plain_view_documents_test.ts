import { assertEquals, assertRejects } from "@std/assert";
import {
  createArrayChunks,
  MemoryStore,
  openArrayChunks,
  plainView,
} from "../../mod.ts";
import { streamOf } from "../stores/store_values.ts";
import { encodeJson, readJson, readText, utf8 } from "../support/documents.ts";
import { arrayInParts, IN_PARTS } from "../support/in_parts.ts";
import { arrayMetadata } from "../support/metadata.ts";
import { observed } from "../support/observed_store.ts";

const BYTES = Uint8Array.of(1, 2, 3, 4, 5);
const PLAIN_KEYS = { name: "default", configuration: { separator: "/" } };
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

Deno.test("plainView stores a new array as its document specifies", async () => {
  const stored = new MemoryStore();
  const view = plainView(stored);
  await createArrayChunks(view, "plain", arrayMetadata());
  const parts = arrayMetadata(IN_PARTS);
  await view.set("/parts/zarr.json", encodeJson(parts));
  assertEquals(await stored.get("/parts/zarr.json"), encodeJson(parts));
  await view.set("/plain/c/0/1", BYTES);
  await view.set("/parts/c/0/1", BYTES);
  assertEquals((await Array.fromAsync(stored.list())).sort(), [
    "/parts/c/0/1.bin",
    "/parts/c/0/1.bin.crc",
    "/parts/zarr.json",
    "/plain/c/0/1",
    "/plain/zarr.json",
  ]);
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
