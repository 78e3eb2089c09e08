import { assertEquals } from "@std/assert";
import * as zarr from "zarrita";
import { MemoryStore } from "../../mod.ts";
import { registerCodecs, withZarrParts } from "../../zarrita.ts";
import { countingBytes } from "../support/bytes.ts";
import {
  encodeJson,
  groupMetadata,
  readJson,
  readText,
  utf8,
} from "../support/documents.ts";
import { IN_PARTS } from "../support/in_parts.ts";
import { arrayMetadata } from "../support/metadata.ts";
import { shardedMetadata, shardedStore, sharding } from "./sharded_array.ts";

registerCodecs(zarr.registry);

const PLAIN_KEYS = { name: "default", configuration: { separator: "/" } };
const GZIP = { name: "gzip", configuration: { level: 1 } };

/** Returns the document that a wrapper shows for a stored one. */
async function shown(document: unknown): Promise<unknown> {
  const stored = new MemoryStore();
  await stored.set("/zarr.json", encodeJson(document));
  return await readJson(withZarrParts(stored), "/zarr.json");
}

function chunks(...chunk_shape: number[]): Record<string, unknown> {
  return { name: "regular", configuration: { chunk_shape } };
}

/** Arrays as they are stored and as they are shown. */
const ARRAYS: Record<string, [unknown, unknown]> = {
  "in shards": [
    shardedMetadata({ chunk_key_encoding: PLAIN_KEYS }),
    arrayMetadata({
      shape: [12],
      chunk_grid: chunks(2),
      chunk_key_encoding: PLAIN_KEYS,
      codecs: [{ name: "bytes", configuration: {} }],
    }),
  ],
  "in shards in shards, under other keys and in parts": [
    shardedMetadata({
      ...IN_PARTS,
      attributes: { a: [1] },
      dimension_names: ["x"],
      codecs: [
        sharding({
          inner: [4],
          codecs: [sharding({ codecs: ["bytes", GZIP] })],
        }),
      ],
    }),
    arrayMetadata({
      shape: [12],
      chunk_grid: chunks(2),
      chunk_key_encoding: PLAIN_KEYS,
      codecs: [{ name: "bytes", configuration: {} }, GZIP],
      attributes: { a: [1] },
      dimension_names: ["x"],
    }),
  ],
  "with codecs without configurations": [
    arrayMetadata({
      chunk_key_encoding: PLAIN_KEYS,
      codecs: ["bytes", { name: "zstd" }, GZIP],
    }),
    arrayMetadata({
      chunk_key_encoding: PLAIN_KEYS,
      codecs: [
        { name: "bytes", configuration: {} },
        { name: "zstd", configuration: {} },
        GZIP,
      ],
    }),
  ],
};

for (const [what, [stored, expected]] of Object.entries(ARRAYS)) {
  Deno.test(`withZarrParts shows an array ${what} in a form that zarrita understands, also in consolidated metadata`, async () => {
    assertEquals(await shown(stored), expected);
    const other = groupMetadata({ b: groupMetadata({ c: stored }) });
    assertEquals(
      await shown(groupMetadata({ a: stored, "d/e": stored, other })),
      groupMetadata({
        a: expected,
        "d/e": expected,
        other: groupMetadata({ b: groupMetadata({ c: expected }) }),
      }),
    );
  });
}

Deno.test("withZarrParts shows documents without changes byte for byte", async () => {
  const configured = { codecs: [{ name: "bytes", configuration: {} }] };
  for (
    const text of [
      `{ "zarr_format":3, "node_type":"group"}`,
      JSON.stringify(arrayMetadata(configured), null, 7),
      JSON.stringify(groupMetadata({ a: arrayMetadata(configured) }), null, 3),
      `{"node_type":"group","zarr_format":3,"attributes":{"a":1.0}}`,
    ]
  ) {
    const stored = new MemoryStore();
    await stored.set("/zarr.json", utf8(text));
    assertEquals(await readText(withZarrParts(stored), "/zarr.json"), text);
  }
  const v2 = new MemoryStore();
  for (const key of ["/.zarray", "/.zattrs", "/.zgroup", "/0.0"] as const) {
    await v2.set(key, countingBytes(key.length));
    assertEquals(await withZarrParts(v2).get(key), countingBytes(key.length));
  }
});

Deno.test("withZarrParts keeps the notation of numbers in attributes, fill values and the codecs of inner chunks", async () => {
  const numbers =
    '{"n":[500.0,1e3,12345678901234567890,0.10000000000000000001]}';
  const stored = await shardedStore(shardedMetadata({
    attributes: "NUMBERS",
    data_type: { name: "own", configuration: {} },
    fill_value: "NUMBERS",
    codecs: [sharding({ codecs: [{ name: "x", configuration: "NUMBERS" }] })],
  }));
  const text = (await readText(stored, "/zarr.json"))
    .replaceAll('"NUMBERS"', numbers);
  await stored.set("/zarr.json", utf8(text));
  const lines = (await readText(withZarrParts(stored), "/zarr.json"))
    .replaceAll(/\s/g, "");
  assertEquals(lines.split(numbers).length - 1, 3, lines);
});

Deno.test("withZarrParts reads shards with lengths written as 4.0", async () => {
  const stored = await shardedStore();
  const text = (await readText(stored, "/zarr.json"))
    .replaceAll("[4]", "[4.0]").replaceAll("[2]", "[2.0]")
    .replaceAll("[12]", "[1.2e1]");
  await stored.set("/zarr.json", utf8(text));
  const array = await zarr.open(withZarrParts(stored), { kind: "array" });
  assertEquals(array.chunks, [2]);
  assertEquals(Array.from((await zarr.get(array)).data as Uint8Array), [
    ...[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
  ]);
});
