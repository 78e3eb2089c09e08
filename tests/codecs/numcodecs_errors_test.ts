import {
  assertEquals,
  assertInstanceOf,
  assertRejects,
  assertThrows,
} from "@std/assert";
import * as zarr from "zarrita";
import { DamageError, MetadataError } from "../../mod.ts";
import { type ChunkMetadata, noteKey } from "../../src/codecs/codec.ts";
import { codecKind } from "../../src/metadata/codecs.ts";
import { registerCodecs } from "../../src/codecs/register_codecs.ts";

const registry = new Map(zarr.registry);
registerCodecs(registry);

interface Codec {
  encode(value: unknown): unknown;
  decode(value: unknown): unknown;
}

async function make(
  name: string,
  configuration: unknown,
  dataType = "uint16",
  shape: readonly number[] = [4],
): Promise<Codec> {
  const tested = { name, configuration };
  const codecs = codecKind(name) === "bytes_to_bytes"
    ? [{ name: "bytes" }, tested]
    : [tested, { name: "bytes" }];
  const entry = await registry.get(name)!() as {
    fromConfig(configuration: unknown, metadata: ChunkMetadata): Codec;
  };
  return entry.fromConfig(configuration, { dataType, shape, codecs });
}

const INVALID: [
  name: string,
  configuration: unknown,
  path: string,
  dataType?: string,
][] = [
  ["numcodecs.bz2", { level: 0 }, "/configuration/level"],
  ["numcodecs.bz2", { level: 10 }, "/configuration/level"],
  ["numcodecs.lz4", { acceleration: 1.5 }, "/configuration/acceleration"],
  ["numcodecs.lz4", { level: 1 }, "/configuration/level"],
  ["blosc", { cname: "brotli" }, "/configuration/cname"],
  ["blosc", { clevel: 10 }, "/configuration/clevel"],
  ["blosc", { clevel: -1 }, "/configuration/clevel"],
  ["blosc", { shuffle: 3 }, "/configuration/shuffle"],
  ["blosc", { shuffle: "byteshuffle" }, "/configuration/shuffle"],
  ["blosc", { typesize: 0 }, "/configuration/typesize"],
  ["blosc", { blocksize: -1 }, "/configuration/blocksize"],
  ["numcodecs.shuffle", { elementsize: -1 }, "/configuration/elementsize"],
  ["numcodecs.shuffle", { elementsize: "2" }, "/configuration/elementsize"],
  ["numcodecs.crc32", { location: "middle" }, "/configuration/location"],
  ["numcodecs.fletcher32", { location: "end" }, "/configuration/location"],
  ["numcodecs.jenkins_lookup3", { initval: -1 }, "/configuration/initval"],
  ["numcodecs.jenkins_lookup3", { initval: 2 ** 32 }, "/configuration/initval"],
  ["numcodecs.jenkins_lookup3", { prefix: [1] }, "/configuration/prefix"],
  ["numcodecs.delta", { dtype: "<u4" }, "/configuration/dtype"],
  ["numcodecs.delta", { dtype: "<u2", astype: "|S3" }, "/configuration/astype"],
  [
    "numcodecs.delta",
    { dtype: "<u2", astype: "bool" },
    "/configuration/astype",
  ],
  ["numcodecs.fixedscaleoffset", { scale: 1 }, "/configuration/offset"],
  [
    "numcodecs.fixedscaleoffset",
    { offset: 1, scale: "1" },
    "/configuration/scale",
  ],
  ["numcodecs.quantize", { digits: 1 }, "/configuration/dtype"],
  [
    "numcodecs.quantize",
    { digits: 1, astype: "<i4" },
    "/configuration/astype",
    "float32",
  ],
  [
    "numcodecs.quantize",
    { digits: 401, dtype: "<f4" },
    "/configuration/digits",
    "float32",
  ],
  [
    "numcodecs.quantize",
    { digits: -401, dtype: "<f4" },
    "/configuration/digits",
    "float32",
  ],
  ["numcodecs.quantize", { digits: 1.5 }, "/configuration/digits", "float32"],
  ["numcodecs.quantize", {}, "/configuration/digits", "float32"],
  ["numcodecs.astype", {}, "/configuration/encode_dtype"],
  [
    "numcodecs.astype",
    { encode_dtype: "<f4", decode_dtype: "<f8" },
    "/configuration/decode_dtype",
  ],
  ["bitround", {}, "/configuration/keepbits"],
  ["bitround", { keepbits: -1 }, "/configuration/keepbits"],
  ["numcodecs.packbits", {}, "", "uint8"],
  ["bitround", { keepbits: 1 }, "", "bool"],
  ["vlen-utf8", { level: 1 }, "/configuration/level", "string"],
];

for (const [name, configuration, path, dataType] of INVALID) {
  Deno.test(`${name} refuses ${JSON.stringify(configuration)}`, async () => {
    const error = await assertRejects(
      () => make(name, configuration, dataType),
      MetadataError,
    );
    assertEquals(error.path, path);
  });
}

Deno.test("codecs take a member that is null for one that is left out", async () => {
  const cases: [
    name: string,
    members: Record<string, unknown>,
    null: string,
  ][] = [
    ["numcodecs.crc32", {}, "location"],
    ["numcodecs.jenkins_lookup3", {}, "prefix"],
    ["numcodecs.jenkins_lookup3", {}, "initval"],
    ["blosc", { cname: "lz4" }, "clevel"],
    ["zstd", {}, "checksum"],
  ];
  for (const [name, members, member] of cases) {
    const encoded = await Promise.all([members, { ...members, [member]: null }]
      .map(async (configuration) => {
        const codec = await make(name, configuration);
        return await codec.encode(new Uint8Array(8)) as Uint8Array;
      }));
    assertEquals(encoded[1], encoded[0], `${name} ${member}`);
  }
});

/** Damaged chunks of 8 bytes in hexadecimal digits, and what their errors say. */
const DAMAGED: [name: string, bytes: string, message: string][] = [
  ["numcodecs.lz4", "08000000", "cut short"],
  ["numcodecs.lz4", "ffffffff0102", "more than 8 bytes by lz4"],
  ["numcodecs.lz4", "07000000800102030405060708", "no block of LZ4 of 7 bytes"],
  ["numcodecs.lz4", "080000001001020000", "no block of LZ4 of 8 bytes"],
  ["blosc", "02012102", "where its header takes 16"],
  ["blosc", "05012102080000000800000010000000", "Its version is 5"],
  ["blosc", "0201e002080000000800000010000000", "Its format is 7"],
  ["blosc", "02012102ffffff7f0800000010000000", "more than 8 bytes by blosc"],
  ["blosc", "02012102080000000000000010000000", "have no bytes"],
  ["blosc", "02012302080000000800000010000000", "stores 0 of 8 bytes"],
  ["blosc", "020121020800000008000000180000000400000000000000", "starts at 4"],
  [
    "blosc",
    "020121020800000008000000180000001400000009000000",
    "9 bytes, where 0 are left",
  ],
  ["numcodecs.bz2", "425a68", "cut short"],
  ["numcodecs.bz2", "425a300000", "does not start as bzip2"],
  ["numcodecs.shuffle", "010203", "no multiple of its elementsize, 2"],
];

for (const [name, bytes, message] of DAMAGED) {
  Deno.test(`${name} names the key and the damage: ${message}`, async () => {
    const codec = await make(name, {});
    const encoded = Uint8Array.fromHex(bytes);
    noteKey(encoded, "/c/0");
    const error = await assertRejects(
      async () => await codec.decode(encoded),
      DamageError,
      message,
    );
    assertEquals(error.key, "/c/0");
  });
}

Deno.test("codecs that are read alone say what is written", async () => {
  const bytes = new Uint8Array(8);
  const bz2 = await make("numcodecs.bz2", {});
  assertThrows(
    () => bz2.encode(bytes),
    TypeError,
    'numcodecs.bz2 is read, and not written; "zstd"',
  );
  const snappy = await make("blosc", { cname: "snappy" });
  await assertRejects(
    async () => await snappy.encode(bytes),
    TypeError,
    '"lz4" is as fast',
  );
});

Deno.test("bitround of integers is not written", async () => {
  for (const name of ["bitround", "numcodecs.bitround"]) {
    const codec = await make(name, { keepbits: 3 }, "uint16");
    const chunk = { data: new Uint16Array(4), shape: [4], stride: [1] };
    await assertRejects(
      async () => await codec.encode(chunk),
      TypeError,
      "of uint16 is read, and not written; floats are written",
    );
  }
});

Deno.test("quantize refuses to write digits that its data type does not have", async () => {
  const chunk = { data: new Float32Array(4), shape: [4], stride: [1] };
  for (const digits of [-400, 40, 400]) {
    const codec = await make("numcodecs.quantize", { digits }, "float32");
    await assertRejects(
      async () => await codec.encode(chunk),
      RangeError,
      `that float32 has, found ${digits}`,
    );
    assertEquals(
      (await codec.decode(chunk) as { data: unknown }).data,
      chunk.data,
    );
  }
});

Deno.test("filters refuse chunks of another length as damage", async () => {
  for (
    const [name, configuration] of [
      ["numcodecs.delta", { dtype: "<u2" }],
      ["numcodecs.astype", { encode_dtype: "|u1" }],
      ["bitround", { keepbits: 1 }],
    ] as const
  ) {
    const codec = await make(name, configuration);
    const data = new Uint8Array(9);
    await assertRejects(
      async () => await codec.decode({ data, shape: [4], stride: [1] }),
      DamageError,
      "The chunk has 9 bytes, where its 4 elements of",
    );
  }
});

Deno.test("vlen-utf8 and vlen-bytes keep elements, and refuse damage", async () => {
  const texts = ["", "ab", "zażółć", "𝄞"];
  const utf8 = await make("vlen-utf8", {}, "string");
  const encoded = utf8.encode({ data: texts, shape: [4], stride: [1] });
  assertInstanceOf(encoded, Uint8Array);
  const { data } = utf8.decode(encoded) as { data: unknown };
  assertEquals(data, texts);
  const raw = await make("vlen-bytes", {}, "bytes");
  const { data: bytes } = raw.decode(encoded) as { data: Uint8Array[] };
  assertEquals(bytes, texts.map((text) => new TextEncoder().encode(text)));
  assertEquals(raw.encode({ data: bytes, shape: [4], stride: [1] }), encoded);
  const damages: [Uint8Array, string][] = [
    [encoded.slice(0, 3), "ends before the number of its elements"],
    [encoded.slice(0, 6), "ends before its element 0"],
    [encoded.slice(0, -1), "4 bytes in its element 3, where 3 are left"],
    [Uint8Array.from([...encoded, 0]), "has 1 bytes after its last element"],
    [
      Uint8Array.from(encoded, (b, i) => i === 0 ? 5 : b),
      "5 elements, where 4",
    ],
    [
      Uint8Array.from(encoded, (b, i) => i === 12 ? 255 : b),
      "no UTF-8 in its element 1",
    ],
  ];
  for (const [damaged, message] of damages) {
    assertThrows(() => utf8.decode(damaged), DamageError, message);
  }
});
