import { assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import * as zarr from "zarrita";
import { registerCodecs } from "../../../src/zarrita/register_codecs.ts";

Deno.test("registerCodecs registers crc32c and packbits, and keeps the other codecs", async () => {
  const before = new Map(zarr.registry);
  const registry = new Map(zarr.registry);
  registerCodecs(registry);
  const names = new Set([...before.keys(), "crc32c", "packbits"]);
  assertEquals(new Set(registry.keys()), names);
  for (const [name, load] of before) {
    if (name === "crc32c" || name === "packbits") continue;
    assertStrictEquals(registry.get(name), load);
  }
  const meta = {
    dataType: "uint8",
    shape: [2],
    codecs: [],
    fillValue: null,
  } as const;
  const kinds: Record<string, string | undefined> = {};
  for (const name of ["crc32c", "packbits"]) {
    const entry = await registry.get(name)!();
    const codec = entry.fromConfig({}, { ...meta, shape: [2], codecs: [] });
    kinds[name] = codec.kind;
  }
  assertEquals(kinds, { crc32c: "bytes_to_bytes", packbits: "array_to_bytes" });
});

Deno.test("registerCodecs can be called again", async () => {
  registerCodecs(zarr.registry);
  const names = [...zarr.registry.keys()];
  registerCodecs(zarr.registry);
  assertEquals([...zarr.registry.keys()], names);
  const array = await zarr.create(new Map(), {
    shape: [3],
    chunkShape: [3],
    dtype: "bool",
    fillValue: false,
    codecs: [
      { name: "packbits", configuration: {} },
      { name: "crc32c", configuration: {} },
    ],
  });
  await zarr.set(array, [zarr.slice(1, 2)], true);
  const { data } = await zarr.get(array);
  assertEquals(Array.from(data), [false, true, false]);
});

Deno.test("registerCodecs rejects a registry other than zarrita's, and does not change it", () => {
  const registry = new Map<string, () => Promise<object>>();
  assertThrows(
    () => registerCodecs(registry),
    TypeError,
    'Expected the registry of zarrita, found one without the codec "bytes"',
  );
  assertEquals(registry.size, 0);
});
