import { assertEquals, assertThrows } from "@std/assert";
import * as zarr from "zarrita";
import { namedCodec, SHORT_NAMES } from "../../src/codecs/named_codec.ts";
import { type CodecKind, codecKind } from "../../src/metadata/codecs.ts";
import { registerCodecs } from "../../src/codecs/register_codecs.ts";

interface Codec {
  readonly kind: CodecKind;
  encode(bytes: Uint8Array): Uint8Array | Promise<Uint8Array>;
  decode(bytes: Uint8Array): Uint8Array | Promise<Uint8Array>;
}

/** Makes a codec as zarrita does. */
async function makeCodec(
  name: string,
  configuration: unknown = {},
  dataType = "uint16",
): Promise<Codec> {
  const registry = new Map(zarr.registry);
  registerCodecs(registry);
  const codecs = [{ name: "bytes" }, { name, configuration }];
  const metadata = { dataType, shape: [500], codecs };
  const entry = await registry.get(name)!() as {
    fromConfig(configuration: unknown, metadata: unknown): Codec;
  };
  return entry.fromConfig(configuration, metadata);
}

for (const shortName of SHORT_NAMES) {
  Deno.test(`namedCodec makes ${shortName}, which encodes and decodes`, async () => {
    const codec = namedCodec(shortName, { elementSize: 2 });
    const coder = await makeCodec(codec.name, codec.configuration);
    assertEquals(coder.kind ?? "bytes_to_bytes", "bytes_to_bytes");
    const bytes = Uint8Array.from({ length: 1000 }, (_, i) => i * i >> 5);
    const encoded = await coder.encode(bytes);
    assertEquals(await coder.decode(Uint8Array.from(encoded)), bytes);
  });
}

Deno.test("namedCodec takes the defaults of zarr-python and numcodecs", () => {
  assertEquals(namedCodec("zstd"), {
    name: "zstd",
    configuration: { level: 3, checksum: false },
  });
  assertEquals(namedCodec("gzip").configuration, { level: 5 });
  assertEquals(namedCodec("gzip", { level: 9 }).configuration, { level: 9 });
  assertEquals(namedCodec("zlib"), {
    name: "numcodecs.zlib",
    configuration: { level: 1 },
  });
  assertEquals(namedCodec("lz4", { level: 7 }).configuration, {
    acceleration: 7,
  });
  assertEquals(
    namedCodec("blosc", { cname: "lz4", level: 9, elementSize: 4 }),
    {
      name: "blosc",
      configuration: {
        typesize: 4,
        cname: "lz4",
        clevel: 9,
        shuffle: "shuffle",
        blocksize: 0,
      },
    },
  );
  assertEquals(namedCodec("blosc").configuration?.shuffle, "bitshuffle");
});

Deno.test("namedCodec refuses what no codec takes", () => {
  const refuses = (message: string, ...args: Parameters<typeof namedCodec>) =>
    assertThrows(() => namedCodec(...args), RangeError, message);
  refuses('Unknown codec "zip"; known are "zstd"', "zip");
  refuses('Unknown codec "toString"', "toString");
  refuses(
    "Expected the level of gzip to be a whole number from 0 to 9, found 10",
    "gzip",
    { level: 10 },
  );
  refuses("from -131072 to 22, found 23", "zstd", { level: 23 });
  refuses("found -131073", "zstd", { level: -131073 });
  refuses("found 1.5", "blosc", { level: 1.5 });
  refuses("Expected no level of crc32c, found 1", "crc32c", { level: 1 });
  refuses('Unknown compressor "brotli" of blosc', "blosc", { cname: "brotli" });
});

Deno.test("codecKind knows the codecs of zarrita and of this package by their kinds", async () => {
  const registry = new Map(zarr.registry);
  registerCodecs(registry);
  const sample: Readonly<Record<string, unknown>> = {
    transpose: { order: [0] },
    bitround: { keepbits: 3 },
    "numcodecs.bitround": { keepbits: 3 },
    "numcodecs.fixedscaleoffset": { scale: 1, offset: 0 },
    "numcodecs.quantize": { digits: 1 },
    "numcodecs.astype": { encode_dtype: "<f4" },
    cast_value: { data_type: "uint8" },
    imagecodecs_jpeg: null,
    "imagecodecs_floatpred": { dist: 1 },
  };
  for (const name of registry.keys()) {
    const kind = codecKind(name);
    if (sample[name] === null) continue;
    const dataType = name === "numcodecs.packbits"
      ? "bool"
      : name === "numcodecs.quantize"
      ? "float32"
      : "uint16";
    const codec = await makeCodec(name, sample[name] ?? {}, dataType);
    assertEquals(kind, codec.kind ?? "bytes_to_bytes", name);
  }
});
