/** The lengths that chunks may decode to. */
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { DamageError, MetadataError } from "../../mod.ts";
import { decodeChunk } from "../../src/codecs/decode_chunk.ts";
import { loadCodec } from "../../src/codecs/register_codecs.ts";
import { chunkRows, noteKey } from "../../src/codecs/codec.ts";
import {
  decodedLength,
  MOST_DECODED,
} from "../../src/codecs/decoded_length.ts";
import { OWN_CODECS } from "./zarrita_codecs.ts";

async function make(name: string, dataType: string, shape: number[]) {
  const entry = await loadCodec(name, { zstd: OWN_CODECS.get("zstd") });
  const configuration = name === "blosc"
    ? {
      ...{ typesize: 1, cname: "lz4", clevel: 5 },
      ...{ shuffle: "noshuffle", blocksize: 0 },
    }
    : name === "zstd"
    ? { level: 1, checksum: false }
    : {};
  const toBytes = dataType === "string" ? "vlen-utf8" : "bytes";
  const codecs = [{ name: toBytes }, { name, configuration }];
  return () =>
    entry!.fromConfig(configuration, { dataType, shape, codecs }) as {
      decode(bytes: Uint8Array): Uint8Array | Promise<Uint8Array>;
    };
}

function littleEndian(number: number): number[] {
  return Array.from(
    { length: 4 },
    (_, i) => Math.floor(number / 256 ** i) & 255,
  );
}

/** Encoded bytes whose header says a length. */
const WITH_LENGTH: Record<string, (length: number) => number[]> = {
  // A damaged block, so that nothing is decoded, and blocks of one byte again and again.
  zstd(length) {
    const repeated = 1 << 1 | 2 ** 17 << 3;
    const blocks = Math.ceil(length / 2 ** 17);
    return [
      ...[0x28, 0xb5, 0x2f, 0xfd, 0xa0],
      ...littleEndian(length),
      ...[2 << 1 | 3 << 3, 0, 0, 255, 255, 255],
      ...Array.from({ length: blocks }, (_, i) => [
        ...littleEndian(repeated + Number(i === blocks - 1)).slice(0, 3),
        0,
      ]).flat(),
    ];
  },
  "numcodecs.lz4": (length) => [...littleEndian(length), 0],
  blosc: (length) => [
    ...[2, 1, 0x21, 1],
    ...littleEndian(length),
    ...littleEndian(2 ** 20),
    ...littleEndian(16),
  ],
};

for (const [name, encode] of Object.entries(WITH_LENGTH)) {
  Deno.test(`${name} decodes at most 1 GiB for elements of no known length`, async () => {
    const codec = (await make(name, "string", [4]))();
    const decode = async (length: number) =>
      await codec.decode(Uint8Array.from(encode(length)));
    const short = await assertRejects(() => decode(2 ** 30), DamageError);
    assertEquals(/no known length/.test(short.message), false, short.message);
    await assertRejects(
      () => decode(2 ** 30 + 1),
      DamageError,
      "decodes to more than 1073741824 bytes",
    );
    const long = await assertRejects(() => decode(2 ** 30 + 1), DamageError);
    assertEquals(long.message.endsWith("of no known length"), true);
  });
}

for (
  const name of [
    ...["zstd", "gzip", "zlib", "blosc", "lz4", "bz2"]
      .map((short) => `numcodecs.${short}`),
    ...["deflate", "zlib", "zstd", "lzw", "packbits"]
      .map((short) => `imagecodecs_${short}`),
    ...["zstd", "gzip", "zlib", "blosc", "lz4"],
  ]
) {
  Deno.test(`${name} refuses chunks that are too long to be decoded`, async () => {
    const most = MOST_DECODED;
    (await make(name, "uint8", [most / 3, 3]))();
    for (const shape of [[most + 1], [2 ** 16, 2 ** 16], [2 ** 53 - 1]]) {
      const codec = await make(name, "uint8", shape);
      const bytes = shape.reduce((product, n) => product * n, 1);
      assertThrows(
        codec,
        MetadataError,
        `"${name}" is for chunks of at most 4294967295 bytes, found chunks of ${bytes} bytes`,
      );
    }
  });
}

Deno.test("chunkRows counts the rows of the first dimension in which a chunk is longer than 1", () => {
  const bytes = ["bytes"];
  const cases: [
    chunk: number[],
    array: number[],
    first: number[],
    codecs: string[],
    rows: ReturnType<typeof chunkRows>,
  ][] = [
    [[4, 3], [10, 3], [8, 0], bytes, { count: 4, inArray: 2 }],
    [[4, 3], [12, 3], [8, 0], bytes, undefined],
    [[4, 3], [9, 3], [8, 0], bytes, { count: 4, inArray: 1 }],
    [[4, 3], [8, 3], [8, 0], bytes, undefined],
    [[1, 4, 3], [2, 10, 3], [1, 8, 0], bytes, { count: 4, inArray: 2 }],
    [[1, 1, 4], [2, 10, 6], [1, 8, 4], bytes, { count: 4, inArray: 2 }],
    [[1, 1], [2, 2], [0, 0], bytes, undefined],
    [[], [], [], bytes, undefined],
    [[4, 3], [10, 3], [8, 0], ["transpose", "bytes"], undefined],
    [[4, 3], [10, 3], [8, 0], ["bytes", "numcodecs.shuffle"], undefined],
  ];
  for (const [chunk, array, first, codecs, rows] of cases) {
    assertEquals(chunkRows(chunk, array, first, codecs), rows);
  }
});

Deno.test("decodedLength follows what the codecs before one make of the elements", () => {
  const plain = [
    [["bytes"], 20],
    [["transpose", "bytes"], 20],
    [["bytes", "numcodecs.shuffle"], 20],
    [["bytes", "crc32c"], 24],
    [["bytes", "numcodecs.crc32", "numcodecs.adler32"], 28],
    [["bytes", "zstd"], undefined],
    [["bytes", "imagecodecs_lzw", "crc32c"], undefined],
  ] as const;
  for (const [names, exact] of plain) {
    const codecs = [...names, "gzip"].map((name) => ({ name }));
    const metadata = { dataType: "uint16", shape: [2, 5], codecs };
    const length = decodedLength("gzip", metadata);
    assertEquals([length.exact, length.isPredicted], [exact, false]);
    // What a compressor has made may be longer than what it got.
    const least = exact === undefined ? 2 * 20 : exact;
    assertEquals(length.limit >= least && length.limit < 10_000, true);
  }
  const filtered = [{ name: "imagecodecs_delta" }, { name: "bytes" }]
    .concat({ name: "gzip" });
  const metadata = { dataType: "uint16", shape: [2, 5], codecs: filtered };
  assertEquals(decodedLength("gzip", metadata).isPredicted, true);
});

Deno.test("numcodecs.bz2 decodes no more than the limit", async () => {
  // 50,000 zeros in one block.
  const encoded = Uint8Array.from([
    ...[66, 90, 104, 57, 49, 65, 89, 38, 83, 89, 164, 205, 237, 104, 0, 0],
    ...[98, 96, 0, 192, 0, 64, 0, 0, 8, 32, 0, 48, 204, 5, 41, 166],
    ...[33, 108, 72, 94, 46, 228, 138, 112, 161, 33, 73, 155, 218, 208],
  ]);
  noteKey(encoded, "/c/0");
  const codec = (await make("numcodecs.bz2", "uint8", [4]))();
  const error = await assertRejects(
    async () => await codec.decode(encoded),
    DamageError,
    "decodes to more than 4 bytes",
  );
  assertEquals(error.key, "/c/0");
});

Deno.test("decodeChunk refuses a chunk that is too long to be decoded as damage", async () => {
  const level = {
    codecs: [{ name: "bytes" }, { name: "gzip", configuration: { level: 1 } }],
    shape: [10 ** 15],
    dataType: "uint8",
    size: undefined,
  };
  const error = await assertRejects(
    () => decodeChunk(new Uint8Array(9), level, 'Chunk "/c/0"', "/c/0"),
    DamageError,
  );
  assertEquals(error.key, "/c/0");
});
