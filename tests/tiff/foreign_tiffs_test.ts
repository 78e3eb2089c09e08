/** TIFF files of kinds that few programs write, beside what GDAL and tifffile read from them. */
import { assertEquals } from "@std/assert";
import * as zarr from "zarrita";
import { MemoryStore } from "../../mod.ts";
import { verify } from "../../jobs.ts";
import { adoptTiffs } from "../../tiff.ts";
import { registerCodecs, withZarrParts } from "../../zarrita.ts";

registerCodecs(zarr);

interface Case {
  readonly name: string;
  readonly tiff: string;
  readonly shape: readonly number[];
  readonly dataType: string;
  readonly elements: string;
}

const cases: readonly Case[] = JSON.parse(
  await Deno.readTextFile(
    new URL("../fixtures/foreign_tiffs.json", import.meta.url),
  ),
);

for (const { name, tiff, shape, dataType, elements } of cases) {
  Deno.test(`adoptTiffs reads ${name}`, async () => {
    const store = new MemoryStore([
      [`/a/c/${shape.map(() => 0).join("/")}.tif`, Uint8Array.fromBase64(tiff)],
    ]);
    await adoptTiffs(store, "/a");
    const root = zarr.root(withZarrParts(store)).resolve("/a");
    const array = await zarr.open(root, { kind: "array" });
    assertEquals([array.shape, array.dtype], [shape, dataType]);
    const { data } = await zarr.get(array) as { data: Uint8Array };
    const found = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    assertEquals(found, Uint8Array.fromBase64(elements));
    // Data that ends too early is filled up only for readers.
    const { findings } = await verify(store, "/a", { deep: true });
    const isCut = /cut$|of its data/.test(name);
    assertEquals(
      findings.map(({ rule }) => rule),
      isCut ? ["inner-chunk-decoding"] : [],
    );
  });
}
