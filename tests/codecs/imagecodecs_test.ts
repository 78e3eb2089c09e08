import {
  assertEquals,
  assertInstanceOf,
  assertRejects,
  assertThrows,
} from "@std/assert";
import fc from "fast-check";
import * as zarr from "zarrita";
import { DamageError, MetadataError } from "../../mod.ts";
import { decodeLzw, encodeLzw } from "../../src/codecs/lzw_codec.ts";
import { decodeRuns, encodeRuns } from "../../src/codecs/run_length_codec.ts";
import { runs } from "../support/runs.ts";
import {
  decodeChunk,
  encodeChunk,
  mixedBytes,
  tiffArray,
} from "./imagecodecs_support.ts";

const anyBytes = fc.oneof(
  fc.uint8Array({ maxLength: 600 }),
  fc.array(fc.tuple(fc.nat(3), fc.nat(300)), { maxLength: 12 }).map((runs) =>
    new Uint8Array(runs.flatMap(([byte, count]) => Array(count).fill(byte)))
  ),
  fc.tuple(fc.nat(20_000), fc.integer()).map(([length, seed]) =>
    mixedBytes(length, seed)
  ),
);

Deno.test("decodeLzw and decodeRuns return what was encoded, of any bytes", () => {
  fc.assert(
    fc.property(anyBytes, fc.integer({ min: 1, max: 400 }), (bytes, row) => {
      const lzw = encodeLzw(bytes);
      assertEquals(decodeLzw(lzw, undefined, bytes.length), bytes);
      assertEquals(decodeLzw(lzw, bytes.length, bytes.length), bytes);
      const runs = encodeRuns(bytes, row);
      assertEquals(decodeRuns(runs, undefined, bytes.length), bytes);
    }),
    { numRuns: runs(300) },
  );
});

Deno.test("encodeLzw encodes every length around the growth of codes and the clearing of the table", () => {
  const bytes = mixedBytes(12_000, 5).map((byte, i) => byte ^ i * 31);
  const starts = [0, 240, 250, 500, 760, 1780, 3825, 3840, 7670];
  for (const start of starts) {
    for (let length = start; length < start + 24; length++) {
      const piece = bytes.subarray(0, length);
      const decoded = decodeLzw(encodeLzw(piece), undefined, length);
      assertEquals(decoded, piece);
    }
  }
});

Deno.test("encodeRuns ends runs with their row", () => {
  const encoded = encodeRuns(new Uint8Array(9), 3);
  assertEquals(encoded, new Uint8Array([254, 0, 254, 0, 254, 0]));
});

const VECTORS: [string, number[], number[]][] = [
  ["no bytes", [0x80, 0x40, 0x40], []],
  ["one byte", [0x80, 0x18, 0x60, 0x20], [97]],
  ["a code that is just being added", [0x80, 0x18, 0x60, 0x50, 0x10], [
    97,
    97,
    97,
  ]],
];
for (const [name, encoded, decoded] of VECTORS) {
  Deno.test(`LZW of ${name} is as libtiff writes it`, () => {
    assertEquals(encodeLzw(new Uint8Array(decoded)), new Uint8Array(encoded));
    assertEquals(
      decodeLzw(new Uint8Array(encoded), decoded.length, decoded.length),
      new Uint8Array(decoded),
    );
  });
}

Deno.test("decodeRuns skips 128, and refuses a count without its bytes", () => {
  const bytes = new Uint8Array([128, 1, 5, 6, 128, 255, 9, 128]);
  assertEquals(decodeRuns(bytes, undefined, 4), new Uint8Array([5, 6, 9, 9]));
  for (const cut of [[1, 5], [255], [0]]) {
    assertThrows(
      () => decodeRuns(new Uint8Array(cut), undefined, 9),
      SyntaxError,
    );
  }
  assertThrows(() => decodeRuns(bytes, undefined, 3), SyntaxError);
  // With the length of the chunk, data that follows is not read.
  for (const [expected, runs] of [[1, [5]], [2, [5, 6]], [3, [5, 6, 9]]]) {
    const found = decodeRuns(bytes, expected as number, 9);
    assertEquals(found, new Uint8Array(runs as number[]));
  }
  assertEquals(decodeRuns(bytes, 9, 9), new Uint8Array([5, 6, 9, 9]));
  const cut = new Uint8Array([5, 1, 2, 3]);
  assertEquals(decodeRuns(cut, 3, 9), new Uint8Array([1, 2, 3]));
  assertThrows(() => decodeRuns(cut, 4, 9), SyntaxError);
});

Deno.test("decodeLzw and decodeRuns return or refuse any bytes, within the limit", () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 400 }),
      fc.nat(2000),
      (bytes, limit) => {
        const clear = new Uint8Array([0x80, ...bytes]);
        for (
          const decode of [
            () => decodeLzw(bytes, undefined, limit),
            () => decodeLzw(clear, limit, limit),
            () => decodeRuns(bytes, undefined, limit),
          ]
        ) {
          try {
            assertEquals(decode().length <= limit, true);
          } catch (error) {
            assertInstanceOf(error, SyntaxError);
          }
        }
      },
    ),
    { numRuns: runs(2000) },
  );
});

for (const name of ["imagecodecs_lzw", "imagecodecs_packbits"]) {
  Deno.test(`zarrita refuses a chunk of ${name} that is cut or too short as damage, and reads the first elements of a longer one`, async () => {
    const target = await tiffArray("uint16", [30], { name });
    const bytes = mixedBytes(60);
    const encoded = await encodeChunk(target, bytes);
    assertEquals(await decodeChunk(target, encoded), bytes);
    const wrong = [29, 1].map((length) => mixedBytes(2 * length));
    const others = await Promise.all(
      wrong.map(async (bytes) =>
        await encodeChunk(
          await tiffArray("uint16", [bytes.length / 2], { name }),
          bytes,
        )
      ),
    );
    const longer = await tiffArray("uint16", [31], { name });
    const more = await encodeChunk(longer, mixedBytes(62));
    assertEquals(await decodeChunk(target, more), bytes);
    for (let cut = 0; cut < encoded.length - 1; cut++) {
      others.push(encoded.slice(0, cut));
    }
    for (const [i, other] of others.entries()) {
      // LZW needs no end code, of which two bytes are missing at most.
      if (name.endsWith("lzw") && i >= others.length - 2) continue;
      const { cause } = await assertRejects(
        () => decodeChunk(target, other),
        zarr.CodecPipelineError,
      );
      assertInstanceOf(cause, DamageError);
    }
  });
}

Deno.test("imagecodecs_packints packs integers in rows that end with a byte, and round-trips them", async () => {
  const vectors: [number, number, number[], number[]][] = [
    [1, 3, [1, 0, 1, 1, 1, 0], [0b10100000, 0b11000000]],
    [1, 0, [1, 0, 1, 1, 1, 0], [0b10111000]],
    [3, 2, [5, 1, 7, 0, 2, 4], [0b10100100, 0b11100000, 0b01010000]],
    [12, 3, [0xabc, 0xdef, 0x123, 1, 2, 3], [
      ...[0xab, 0xcd, 0xef, 0x12, 0x30],
      ...[0x00, 0x10, 0x02, 0x00, 0x30],
    ]],
    [16, 0, [1, 2, 3, 4, 5, 65535], [0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 255, 255]],
  ];
  for (const [bitspersample, runlen, values, packed] of vectors) {
    const store = new Map<string, Uint8Array>();
    const array = await zarr.create(store, {
      shape: [2, 3],
      chunkShape: [2, 3],
      dtype: "uint16",
      fillValue: 0,
      codecs: [{
        name: "imagecodecs_packints",
        configuration: { bitspersample, runlen },
      }],
    });
    const data = new Uint16Array(values);
    await zarr.set(array, null, { data, shape: [2, 3], stride: [3, 1] });
    assertEquals(store.get("/c/0/0"), new Uint8Array(packed));
    assertEquals((await zarr.get(array)).data, data);
    for (const wrong of [packed.slice(1), [...packed, 0]]) {
      store.set("/c/0/0", new Uint8Array(wrong));
      const { cause } = await assertRejects(
        () => zarr.get(array),
        zarr.CodecPipelineError,
      );
      assertInstanceOf(cause, DamageError);
    }
  }
});

Deno.test("imagecodecs_packints refuses other data types and configurations", async () => {
  const cases: [string, unknown][] = [
    ["int16", {}],
    ["float32", {}],
    ["uint8", { bitspersample: 9 }],
    ["uint8", { bitspersample: 0 }],
    ["uint8", { bitspersample: 1, runlen: 4 }],
    ["uint8", { bitspersample: 1, runlen: -1 }],
    ["uint8", { bitspersample: 1, bitorder: "<" }],
    ["uint8", { bits: 1 }],
  ];
  for (const [dtype, configuration] of cases) {
    const array = await zarr.create(new Map(), {
      shape: [2, 3],
      chunkShape: [2, 3],
      dtype: dtype as "uint8",
      fillValue: 0,
      codecs: [
        { name: "imagecodecs_packints", configuration } as never,
      ],
    });
    await assertRejects(() => zarr.set(array, null, 1), MetadataError);
  }
});

const REFUSED: [string, string, number[], unknown][] = [
  ["imagecodecs_lzw", "uint8", [4], { level: 1 }],
  ["imagecodecs_packbits", "uint8", [4], { axes: 0 }],
  ["imagecodecs_packbits", "uint8", [4], { axis: 1 }],
  ["imagecodecs_packbits", "uint8", [4], { axis: "0" }],
  ["imagecodecs_delta", "uint8", [4, 3], { axis: 2 }],
  ["imagecodecs_delta", "uint8", [4, 3], { axis: -3 }],
  ["imagecodecs_delta", "uint8", [4, 3], { axis: 0.5 }],
  ["imagecodecs_delta", "uint8", [4, 3], { dist: 2 }],
  ["imagecodecs_delta", "uint8", [4, 3], { other: 2 }],
  ["imagecodecs_delta", "bool", [4, 3], {}],
  ["imagecodecs_floatpred", "float32", [2, 4, 3], { axis: 0 }],
  ["imagecodecs_floatpred", "float32", [2, 4, 3], { dist: 2 }],
  ["imagecodecs_floatpred", "float32", [2, 4, 3], { dist: 0 }],
  ["imagecodecs_floatpred", "uint8", [2, 4, 3], {}],
];
for (const [name, dataType, shape, configuration] of REFUSED) {
  Deno.test(`${name} refuses ${JSON.stringify(configuration)} for ${dataType} and ${shape}`, async () => {
    const target = await tiffArray(dataType, shape, { name, configuration });
    await assertRejects(
      () => zarr.set(target.array as never, null, 1 as never),
      MetadataError,
    );
  });
}

Deno.test("imagecodecs_delta follows the order in which transpose stores elements", async () => {
  const transpose = { name: "transpose", configuration: { order: [1, 0] } };
  const codec = { name: "imagecodecs_delta", configuration: { axis: -1 } };
  const target = await tiffArray("uint8", [2, 3], codec, [transpose]);
  const bytes = new Uint8Array([1, 2, 3, 11, 22, 33]);
  const encoded = await encodeChunk(target, bytes);
  assertEquals(encoded, new Uint8Array([1, 10, 2, 20, 3, 30]));
  const rows = [0, 1].map((row) => zarr.get(target.array, [row, null]));
  assertEquals(
    (await Promise.all(rows)).map(({ data }) => [...data as Uint8Array]),
    [[1, 2, 3], [11, 22, 33]],
  );
  await zarr.set(target.array as never, [0, 1] as never, 5 as never);
  assertEquals(
    target.store.get("/c/0/0"),
    new Uint8Array([1, 10, 5, 17, 3, 30]),
  );
});

for (const name of ["imagecodecs_delta", "imagecodecs_floatpred"]) {
  Deno.test(`${name} round-trips elements stored in big endian, with slices and ragged edges`, async () => {
    const array = await zarr.create(new Map(), {
      shape: [5, 7],
      chunkShape: [3, 4],
      dtype: "float32",
      fillValue: 0,
      codecs: [
        { name, configuration: { axis: -2 } },
        { name: "bytes", configuration: { endian: "big" } },
        { name: "imagecodecs_lzw", configuration: {} },
      ],
    });
    const data = Float32Array.from({ length: 35 }, (_, i) => i * 1.37 - 9);
    await zarr.set(array, null, { data, shape: [5, 7], stride: [7, 1] });
    await zarr.set(array, [4, 6], 5);
    data[34] = 5;
    assertEquals((await zarr.get(array)).data, data);
  });
}
