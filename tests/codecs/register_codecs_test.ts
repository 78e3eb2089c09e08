import {
  assertEquals,
  assertInstanceOf,
  assertRejects,
  assertStrictEquals,
  assertThrows,
} from "@std/assert";
import * as zarr from "zarrita";
import { DamageError } from "../../mod.ts";
import { registerCodecs } from "../../src/codecs/register_codecs.ts";
import { CODEC_BY_NAME } from "../../src/metadata/codecs.ts";

/** The codecs that encode and decode bytes, by the table. */
const BYTES_TO_BYTES = Array.from(CODEC_BY_NAME)
  .filter(([, { kind, by, written }]) =>
    kind === "bytes_to_bytes" && by !== undefined && written === undefined
  )
  .map(([name]) => name);

for (const name of BYTES_TO_BYTES) {
  Deno.test(`zarrita writes and reads with the ${name} of registerCodecs, and reports a cut chunk`, async () => {
    registerCodecs(zarr);
    registerCodecs(zarr);
    const store = new Map<string, Uint8Array>();
    const array = await zarr.create(store, {
      shape: [6],
      chunkShape: [4],
      dtype: "int16",
      codecs: [
        { name: "bytes", configuration: { endian: "big" } },
        { name, configuration: {} },
      ],
    });
    const data = new Int16Array([1, -2, 300, 4, 5, 6]);
    await zarr.set(array, null, { data, shape: [6], stride: [1] });
    assertEquals((await zarr.get(array)).data, data);
    const chunk = store.get("/c/1")!;
    // LZW may lack the end code, which takes up to two bytes.
    store.set("/c/1", chunk.slice(0, name.endsWith("lzw") ? -3 : -1));
    const { cause } = await assertRejects(
      () => zarr.get(array),
      zarr.CodecPipelineError,
    );
    assertInstanceOf(cause, DamageError);
  });
}

Deno.test("zarrita refuses unknown codecs with all of their names, without an unhandled rejection", async () => {
  registerCodecs(zarr);
  const cases: [string[], string][] = [
    [["mine"], "Unknown codec: mine"],
    [["mine", "yours"], "Unknown codecs: mine, yours"],
    [["a", "b", "a", "c"], "Unknown codecs: a, b, c"],
  ];
  for (const [names, message] of cases) {
    const array = await zarr.create(new Map(), {
      shape: [1],
      chunkShape: [1],
      dtype: "uint8",
      codecs: [
        { name: "bytes", configuration: {} },
        ...names.map((name) => ({ name, configuration: {} })),
        { name: "crc32c", configuration: {} },
      ],
    });
    await assertRejects(
      () => zarr.set(array, null, 1),
      Error,
      message,
    );
    await assertRejects(
      () => array.getChunk([0]).then(() => zarr.set(array, [0], 2)),
      Error,
      message,
    );
    // Unhandled rejections are reported after the microtasks.
    await new Promise((resolve) => setTimeout(resolve));
  }
});

Deno.test("registerCodecs leaves the registry able to add a codec that was unknown", async () => {
  const registry = new Map(zarr.registry);
  registerCodecs(registry);
  const load = registry.get("crc32c")!;
  registry.set("late", load);
  assertStrictEquals(registry.get("late"), load);
  await registry.get("later")!();
  assertEquals(registry.has("later"), false);
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
