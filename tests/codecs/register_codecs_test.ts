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
import { TIFF_CODECS } from "../../src/containers/tiff/tiff_codecs.ts";

const NUMCODECS_BYTES_TO_BYTES = [
  "blosc",
  "lz4",
  "numcodecs.blosc",
  "numcodecs.lz4",
  "numcodecs.shuffle",
  "numcodecs.crc32",
  "numcodecs.crc32c",
  "numcodecs.adler32",
  "numcodecs.fletcher32",
  "numcodecs.jenkins_lookup3",
];
/** The filters of numcodecs, with the least configuration. */
const FILTERS: Readonly<Record<string, Record<string, unknown>>> = {
  bitround: { keepbits: 3 },
  "numcodecs.bitround": { keepbits: 3 },
  "numcodecs.delta": { dtype: "<f4" },
  "numcodecs.fixedscaleoffset": { offset: 0, scale: 1 },
  "numcodecs.quantize": { digits: 1 },
  "numcodecs.astype": { encode_dtype: "<u2" },
  "numcodecs.packbits": {},
  cast_value: { data_type: "int8" },
  scale_offset: {},
};
/** Codecs that only decode. */
const READ_ONLY = ["numcodecs.bz2"];
const VLEN = [
  "vlen-utf8",
  "vlen-bytes",
  "numcodecs.vlen-utf8",
  "numcodecs.vlen-bytes",
];
const BYTES_TO_BYTES = [
  ...NUMCODECS_BYTES_TO_BYTES,
  "imagecodecs_lzw",
  "imagecodecs_packbits",
  "imagecodecs_deflate",
  "imagecodecs_zlib",
  "imagecodecs_zstd",
  "crc32c",
  "gzip",
  "numcodecs.gzip",
  "zlib",
  "numcodecs.zlib",
  "zstd",
  "numcodecs.zstd",
];
const ARRAY_TO_ARRAY = [
  ...Object.keys(FILTERS),
  "imagecodecs_delta",
  "imagecodecs_floatpred",
];
const REGISTERED = [
  ...BYTES_TO_BYTES,
  ...ARRAY_TO_ARRAY,
  ...VLEN,
  ...READ_ONLY,
  "packbits",
  "imagecodecs_packints",
  "imagecodecs_jpeg",
];

Deno.test("registerCodecs registers its codecs, and keeps the other codecs", async () => {
  const before = new Map(zarr.registry);
  const registry = new Map(zarr.registry);
  registerCodecs(registry);
  const names = new Set([...before.keys(), ...REGISTERED]);
  assertEquals(new Set(registry.keys()), names);
  for (const [name, load] of before) {
    if (REGISTERED.includes(name)) continue;
    assertStrictEquals(registry.get(name), load);
  }
  for (const name of REGISTERED) {
    const dataType = name === "imagecodecs_jpeg"
      ? "uint8"
      : name === "numcodecs.packbits"
      ? "bool"
      : FILTERS[name] !== undefined
      ? "float32"
      : "uint16";
    const meta = { dataType, fillValue: null } as const;
    const entry = await registry.get(name)!();
    const configuration = FILTERS[name] ?? {};
    const codec = entry.fromConfig(configuration, {
      ...meta,
      shape: [2],
      codecs: [],
    });
    const kind = [...BYTES_TO_BYTES, ...READ_ONLY].includes(name)
      ? "bytes_to_bytes"
      : ARRAY_TO_ARRAY.includes(name)
      ? "array_to_array"
      : "array_to_bytes";
    assertEquals(codec.kind, kind);
  }
});

Deno.test("registerCodecs and tiffContainer know the same codecs, but for those that are not tiles of new TIFFs", () => {
  const known = new Set([...TIFF_CODECS, "bytes"]);
  const registry = new Map(zarr.registry);
  registerCodecs(registry);
  assertEquals([...known].filter((name) => !registry.has(name)), []);
  assertEquals(
    new Set(REGISTERED.filter((name) => !known.has(name))),
    new Set([
      ...["crc32c", "packbits", "gzip", "numcodecs.gzip"],
      ...NUMCODECS_BYTES_TO_BYTES,
      ...Object.keys(FILTERS),
      ...VLEN,
      ...READ_ONLY,
      "imagecodecs_packints",
      "imagecodecs_jpeg", // Only decodes.
    ]),
  );
});

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
