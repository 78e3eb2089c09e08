import { assertEquals, assertStringIncludes } from "@std/assert";
import { fileURLToPath } from "node:url";
import { decodeJpeg } from "../../src/codecs/jpeg/decode_jpeg.ts";
import { fixture } from "../codecs/jpeg_fixtures.ts";
import { printedInDeno, testPrintsTheSame } from "./programs.ts";

const CORE = fileURLToPath(import.meta.resolve("./portable.ts"));
const ZARRITA = fileURLToPath(import.meta.resolve("./portable_zarrita.ts"));

Deno.test("the library works in Deno without any permission", async () => {
  const results = JSON.parse(await printedInDeno(CORE));
  const reads = {
    get: [1, 2, 3, 4, 5, 6],
    range: [1, 2, 3],
    suffix: [4, 5, 6],
    stream: [9, 8, 7],
    size: 6,
    absent: true,
  };
  assertEquals(results.memory, reads);
  assertEquals(results.http, reads);
  assertEquals(results.served, {
    status: 206,
    range: "bytes 3-5/6",
    body: [4, 5, 6],
  });
  assertEquals(results.archive, [
    "stored",
    "deflated def",
    "deflated ".repeat(100),
  ]);
  const damage = 'DamageError: Entry "c/0" of archive "/x.zip"';
  assertEquals(results["damaged archive"], ["stored", damage, damage]);
  assertStringIncludes(results.missing, 'lacks "/a/c/0/1.bin.tail"');
  assertStringIncludes(results.size, "PartSizeError: Chunk is 2 bytes long");
  for (const engine of ["native", "wasm", "auto"]) {
    assertEquals(results[engine].size, 100_004);
    assertEquals(results[engine], results.native);
    assertEquals(results[`${engine} joined`], true);
    assertStringIncludes(results[`${engine} damaged`], "Chunk has the CRC32C");
  }
});

Deno.test("zarrita reads and writes arrays in parts in Deno without any permission", async () => {
  const results = JSON.parse(await printedInDeno(ZARRITA));
  const whole = Array.from({ length: 30 }, (_, i) => i * i - 100);
  const pick = (...places: number[]) => places.map((i) => whole[i]);
  const reads = {
    shape: [6, 5],
    whole,
    slice: pick(15, 17, 19, 20, 22, 24),
    sliceShape: [2, 3],
    row: pick(25, 26, 27, 28, 29),
    element: whole[23],
  };
  for (const store of ["memory", "http"]) {
    assertEquals(results[`checked in ${store}`], reads);
    assertEquals(results[`sharded in ${store}`], reads);
  }
  assertEquals(results.header, Array(8).fill(42));
  for (
    const codecs of [
      "imagecodecs_delta, bytes, imagecodecs_lzw",
      "bytes, imagecodecs_packbits",
      "bytes, imagecodecs_deflate",
    ]
  ) {
    assertEquals(results[codecs], whole);
  }
  const unknown = ["UnknownCodecError: Unknown codecs: mine, yours"];
  assertEquals(results.unknown, [unknown, unknown]);
  const outOfRange = (found: string) => [
    `MetadataError: Expected a fill_value of the data type "uint64", a whole number from 0 to 18446744073709551615, found ${found} (at /zarr.json#/fill_value in MemoryStore(1))`,
    `RangeError: Expected a fill_value of the data type "uint64", a whole number from 0 to 18446744073709551615, found ${found}`,
  ];
  const read = (fill: string, element = fill) =>
    `[${JSON.stringify(fill)},{"a":[${JSON.stringify(fill)}]},${
      JSON.stringify(element)
    },"3"]`;
  assertEquals(results.numbers, [
    read("18446744073709551615n"),
    read("-9223372036854775808n"),
    read("9007199254740993n"),
    outOfRange("18446744073709551616n"),
    outOfRange("Infinity"),
    read("Infinity"),
    read("NaN"),
    read("-Infinity"),
    read("100000000000000000000n", "100000002004087730000")
      .replace('"100000000000000000000n"', '"100000000000000000000"'),
  ]);
  const { jpeg } = fixture("16x5x1 -progressive");
  assertEquals(results.jpeg, Array.from(decodeJpeg(jpeg)));
  const chunks = ["0/0", "0/1", "1/0", "1/1"];
  assertEquals(
    results.keys,
    [
      "/checked/zarr.json",
      "/sharded/zarr.json",
      ...chunks.flatMap((chunk) => [
        `/checked/c/${chunk}.bin`,
        `/checked/c/${chunk}.bin.crc32c`,
        `/sharded/c/${chunk}.shard`,
        `/sharded/c/${chunk}.shard.header`,
        `/sharded/c/${chunk}.shard.index`,
      ]),
    ].sort(),
  );
  for (
    const [damaged, what] of [
      ["/checked/c/0/1.bin", 'The chunk at "/checked/c/0/1.bin"'],
      ["/checked/c/0/1.bin.crc32c", 'The chunk at "/checked/c/0/1.bin"'],
      ["/sharded/c/0/1.shard.index", 'The index of "/sharded/c/0/1.shard"'],
    ]
  ) {
    assertStringIncludes(
      results[`damaged ${damaged}`].at(-1),
      `ChecksumError: ${what} has the CRC32C`,
    );
  }
});

testPrintsTheSame("library", CORE);
