import { assertEquals } from "@std/assert";
import * as zarr from "zarrita";
import { MemoryStore } from "../../mod.ts";
import { withZarrParts } from "../../zarrita.ts";
import { readText, utf8 } from "../support/documents.ts";

/** An empty array of one element; JSON.stringify would round the fill value. */
function emptyArray(dataType: string, fillValue: string): string {
  return `{
    "zarr_format": 3,
    "node_type": "array",
    "shape": [1],
    "data_type": "${dataType}",
    "chunk_grid": { "name": "regular", "configuration": { "chunk_shape": [1] } },
    "chunk_key_encoding": { "name": "v2" },
    "fill_value": ${fillValue},
    "codecs": [{ "name": "bytes", "configuration": { "endian": "little" } }]
  }`;
}

for (
  const [dataType, fillValue] of [
    ["int64", "9223372036854775807"],
    ["int64", "-9223372036854775808"],
    ["int64", "9007199254740993"],
    ["uint64", "18446744073709551615"],
    ["int64", "9007199254740991"],
    ["uint64", "0"],
  ] as const
) {
  Deno.test(`withZarrParts shows the exact fill value ${fillValue} of ${dataType}`, async () => {
    const stored = new MemoryStore();
    const store = withZarrParts(stored);
    const text = emptyArray(dataType, fillValue);
    await stored.set("/zarr.json", utf8(text));
    const array = await zarr.open(store, { kind: "array" });
    assertEquals(array.fillValue, BigInt(fillValue));
    assertEquals(await zarr.get(array, [0]), BigInt(fillValue));

    // Written back as it was shown, it is stored as it was.
    await store.set("/zarr.json", (await store.get("/zarr.json"))!);
    const written = await readText(stored, "/zarr.json");
    assertEquals(/"fill_value": (.*),/.exec(written)?.[1], fillValue);
  });
}

for (
  const [dataType, bits, fillValue] of [
    ["float64", "0x7ff8000000000001", NaN],
    ["float64", "0xfff0000000000000", -Infinity],
    ["float64", "0x3ff8000000000000", 1.5],
    ["float32", "0x7fc00001", NaN],
    ["float32", "0x3F800000", 1],
    ["float16", "0x7e01", NaN],
    ["float16", "0xfc00", -Infinity],
    ["float16", "0xc248", -3.140625],
    ["float16", "0x0001", 2 ** -24],
  ] as const
) {
  Deno.test(`withZarrParts shows the fill value of the bits ${bits} of ${dataType}`, async () => {
    const stored = new MemoryStore();
    const store = withZarrParts(stored);
    await stored.set("/zarr.json", utf8(emptyArray(dataType, `"${bits}"`)));
    const array = await zarr.open(store, { kind: "array" });
    assertEquals(await zarr.get(array, [0]), fillValue);

    await store.set("/zarr.json", (await store.get("/zarr.json"))!);
    const written = await readText(stored, "/zarr.json");
    assertEquals(/"fill_value": (.*),/.exec(written)?.[1], `"${bits}"`);
  });
}
