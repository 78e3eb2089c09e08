import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import {
  ArrayChunks,
  arrayMetadata,
  type ArrayMetadataOptions,
  createArrayChunks,
  DefaultChunkKeyEncoding,
  MemoryStore,
  MetadataError,
  type NamedConfiguration,
  parseShardLayout,
  type Part,
  shardIndexSize,
  V2ChunkKeyEncoding,
} from "../../mod.ts";

const PLAIN = { shape: [10, 7], dataType: "uint8", chunkShape: [4, 4] };
const SHARDED = { ...PLAIN, shardShape: [8, 4], chunkShape: [2, 2] };

function metadataWith(changes: object) {
  return arrayMetadata({ ...PLAIN, ...changes } as ArrayMetadataOptions);
}

/** The parts in metadata, each as its suffix and its size. */
function partsOf(changes: object): unknown {
  const metadata = arrayMetadata(
    { ...SHARDED, ...changes } as ArrayMetadataOptions,
  );
  const [transformer] = metadata.storage_transformers as NamedConfiguration[];
  const { parts } = transformer!.configuration!;
  return (parts as { key_suffix: string; size?: number }[]).map((part) =>
    "size" in part ? [part.key_suffix, part.size] : [part.key_suffix]
  );
}

Deno.test("arrayMetadata writes out the codecs, with the byte order where it matters", () => {
  const little = { name: "bytes", configuration: { endian: "little" } };
  const zstd = {
    name: "zstd",
    configuration: { level: 0, checksum: false },
  };
  const blosc = (shuffle: string, typesize: number) => ({
    name: "blosc",
    configuration: {
      cname: "zstd",
      clevel: 5,
      shuffle,
      typesize,
      blocksize: 0,
    },
  });
  const transpose = { name: "transpose", configuration: { order: [1, 0] } };
  const cases: [object, unknown][] = [
    [{}, [{ name: "bytes" }]],
    [{ dataType: "bool" }, [{ name: "bytes" }]],
    [{ dataType: "int8" }, [{ name: "bytes" }]],
    [{ dataType: "int16" }, [little]],
    [{ dataType: "complex128" }, [little]],
    [{ dataType: "string" }, [{ name: "vlen-utf8" }]],
    [{ codecs: ["bytes"] }, [{ name: "bytes" }]],
    [{ dataType: "int16", codecs: ["bytes"] }, [little]],
    [
      {
        dataType: "int16",
        codecs: [{ name: "bytes", configuration: { endian: "big" } }],
      },
      [{ name: "bytes", configuration: { endian: "big" } }],
    ],
    [{ codecs: ["zstd"] }, [{ name: "bytes" }, zstd]],
    [{ codecs: ["bytes", "zstd", "crc32c"] }, [
      { name: "bytes" },
      zstd,
      { name: "crc32c" },
    ]],
    [
      { codecs: [{ name: "zstd", configuration: { level: 3 } }] },
      [{ name: "bytes" }, {
        name: "zstd",
        configuration: { level: 3, checksum: false },
      }],
    ],
    [{ codecs: ["gzip"] }, [{ name: "bytes" }, {
      name: "gzip",
      configuration: { level: 5 },
    }]],
    [{ codecs: ["blosc"] }, [{ name: "bytes" }, blosc("bitshuffle", 1)]],
    [{ dataType: "float64", codecs: ["blosc"] }, [little, blosc("shuffle", 8)]],
    [{ codecs: [transpose, "crc32c"] }, [
      transpose,
      { name: "bytes" },
      { name: "crc32c" },
    ]],
    [{ codecs: [transpose] }, [transpose, { name: "bytes" }]],
    [{ dataType: "bool", codecs: ["packbits"] }, [{ name: "packbits" }]],
    // The codec from array to bytes may be the unknown one.
    [{ codecs: ["jpeg2k"] }, [{ name: "jpeg2k" }]],
    [{ codecs: ["toString"] }, [{ name: "toString" }]],
    [{ codecs: ["mine", "zstd"] }, [{ name: "mine" }, zstd]],
    ...["imagecodecs_lzw", "imagecodecs_packbits", "numcodecs.zlib"].map((
      name,
    ): [object, unknown[]] => [
      { codecs: [name] },
      [{ name: "bytes" }, { name }],
    ]),
    [{ dataType: "int16", codecs: ["imagecodecs_delta", "zlib"] }, [
      { name: "imagecodecs_delta" },
      little,
      { name: "zlib" },
    ]],
    [{ codecs: ["imagecodecs_jpeg"] }, [{ name: "imagecodecs_jpeg" }]],
    [
      {
        dataType: { name: "numpy.datetime64", configuration: { unit: "s" } },
        fillValue: "NaT",
      },
      [little],
    ],
  ];
  for (const [changes, codecs] of cases) {
    assertEquals(metadataWith(changes).codecs, codecs, JSON.stringify(changes));
  }
});

Deno.test("arrayMetadata writes a fill value of the data type", () => {
  const cases: [string, unknown, unknown][] = [
    ["bool", undefined, false],
    ["uint8", undefined, 0],
    ["float16", undefined, 0],
    ["complex64", undefined, [0, 0]],
    ["string", undefined, ""],
    ["bool", true, true],
    ["string", "x", "x"],
    ["float32", NaN, "NaN"],
    ["float64", -Infinity, "-Infinity"],
    ["float32", "0x7fc00000", "0x7fc00000"],
    ["complex64", [1, NaN], [1, "NaN"]],
    ["uint8", 255, 255],
    ["uint8", 255n, 255n],
    ["int8", -128, -128],
    ["uint64", 2n ** 64n - 1n, 2n ** 64n - 1n],
    ["int64", -(2n ** 63n), -(2n ** 63n)],
  ];
  for (const [dataType, fillValue, expected] of cases) {
    const { fill_value } = metadataWith({ dataType, fillValue });
    assertEquals(fill_value, expected, dataType);
  }
});

Deno.test("arrayMetadata refuses a fill value of another type or out of range", () => {
  const cases: [string, unknown, string][] = [
    ["uint8", 256, "a whole number from 0 to 255, found 256"],
    ["uint8", -1, "a whole number from 0 to 255, found -1"],
    ["int8", 128, "a whole number from -128 to 127, found 128"],
    ["int8", -129, "a whole number from -128 to 127, found -129"],
    ["uint64", 2 ** 64, "a whole number from 0 to 18446744073709551615"],
    ["int64", 2n ** 63n, "a whole number from -9223372036854775808 to"],
    ["int16", 0.5, "found 0.5"],
    ["int16", NaN, "found NaN"],
    ["int16", "0", 'found "0"'],
    ["bool", 0, "true or false, found 0"],
    ["string", 0, "a string, found 0"],
    ["float32", "nan", 'found "nan"'],
    ["float32", "0x7fc0000", 'found "0x7fc0000"'],
    ["float32", 1n, "found 1n"],
    ["complex64", 0, "a list of the real and the imaginary part, found 0"],
    ["complex64", [0], "found [0]"],
    ["uint8", null, "found null"],
  ];
  for (const [dataType, fillValue, message] of cases) {
    const error = assertThrows(
      () => metadataWith({ dataType, fillValue }),
      RangeError,
      message,
    );
    assertEquals(
      error.message.startsWith(
        `Expected a fillValue of the data type "${dataType}", `,
      ),
      true,
    );
  }
});

Deno.test("arrayMetadata suggests Zarr's name for a data type in other spellings", () => {
  const names: Record<string, string[]> = {
    bool: ["?", "b1", "|b1", "boolean", "Bool"],
    uint8: ["u1", "|u1", "UInt8", "uint8_t", "Uint8Array", "Uint8ClampedArray"],
    int16: ["i2", "<i2", "Int16", "np.int16", "short"],
    float32: ["f4", "<f4", "float", "Float32Array", "numpy.float32"],
    float64: ["f8", "double"],
    complex128: ["c16"],
    int64: ["i8", "BigInt64Array"],
    uint64: ["BigUint64Array"],
  };
  for (const [name, spellings] of Object.entries(names)) {
    for (const dataType of spellings) {
      const error = assertThrows(() => metadataWith({ dataType }), RangeError);
      assertEquals(
        error.message,
        `Unknown data type "${dataType}"; expected "${name}", its name in Zarr v3`,
      );
    }
  }
});

Deno.test("arrayMetadata sizes the parts that codecs determine", () => {
  const crc32c = { codecs: ["crc32c"], shardShape: undefined };
  const nested = (outer: string[]) => ({
    shardShape: undefined,
    chunkShape: [8, 4],
    codecs: [
      arrayMetadata(SHARDED).codecs[0],
      ...outer,
    ],
  });
  const cases: [object, unknown][] = [
    [{ parts: [""] }, [[""]]],
    [{ parts: ["", ".index"] }, [[""], [".index", 132]]],
    [{ parts: [".data", ".tiff.index"] }, [[".data"], [".tiff.index", 132]]],
    [{ parts: [".header:64", "", ".index"] }, [[".header", 64], [""], [
      ".index",
      132,
    ]]],
    [{ parts: [{ keySuffix: ".h", size: 1 }, ":0", ".body"] }, [[".h", 1], [
      "",
      0,
    ], [".body"]]],
    [
      { parts: [".index", ""], indexLocation: "start" },
      [[".index", 132], [""]],
    ],
    [
      { parts: ["", ".index"], indexCodecs: ["bytes"] },
      [[""], [".index", 128]],
    ],
    [
      {
        parts: ["", ".index"],
        indexCodecs: [
          { name: "bytes", configuration: { endian: "big" } },
          "crc32c",
        ],
      },
      [[""], [".index", 132]],
    ],
    [{ ...crc32c, parts: ["", ".crc32c"] }, [[""], [".crc32c", 4]]],
    [{ ...crc32c, parts: [".x:1", "", ".x.crc32c"] }, [[".x", 1], [""], [
      ".x.crc32c",
      4,
    ]]],
    [{ ...nested([]), parts: ["", ".index"] }, [[""], [".index", 132]]],
    [
      { ...nested(["crc32c"]), parts: ["", ".index", ".crc32c"] },
      [[""], [".index", 132], [".crc32c", 4]],
    ],
  ];
  for (const [changes, parts] of cases) {
    assertEquals(partsOf(changes), parts, JSON.stringify(changes));
  }
});

/** Options that are refused, by a text that the message holds. */
const REFUSED: [ErrorClass: typeof RangeError, Record<string, object[]>][] = [
  [RangeError, {
    "chunkShape to have as many dimensions": [{ chunkShape: [4] }],
    "shardShape to have as many dimensions": [{ shardShape: [4] }],
    "a multiple of chunkShape": [{ shardShape: [8, 6] }, {
      shardShape: [4, 2],
    }],
    '"chunkShape" to be a list of whole numbers from 1': [
      { chunkShape: [0, 4] },
    ],
    '"shape" to be a list of whole numbers from 0': [{ shape: [-1, 4] }, {
      shape: [1.5, 4],
    }],
    'Unknown data type "f3"': [{ dataType: "f3" }],
    "the byte order in the codec": [{ dataType: ">f4" }],
    'Codec "bytes" (array to bytes) follows "zstd"': [
      { codecs: ["zstd", "bytes"] },
    ],
    'found "bytes" and "packbits"': [{ codecs: ["bytes", "mine", "packbits"] }],
    '"indexLocation" is for shards': [{ indexLocation: "start" }],
    '"indexCodecs" is for shards': [{ indexCodecs: ["bytes"] }],
    'Suffix "/../x"': [{ suffix: "/../x" }],
    "dimensionNames to have as many dimensions": [{ dimensionNames: ["x"] }],
    "at least one part": [{ parts: [] }],
    "a size in bytes after the colon": [
      { parts: [".header:", ""] },
      { parts: [".header:64k", ""] },
    ],
    'Parts ".header" and "" have no size': [{ parts: [".header", ""] }],
    'Two parts have the keySuffix ""': [{ parts: ["", ""] }],
    "leave out that part": [
      { parts: ["", ".index"] },
      { parts: [".head:4", "", ".index"] },
    ],
    'the last codec is "bytes"': [{ parts: ["", ".crc32c"] }],
    "the last 4 bytes of its index": [{ ...SHARDED, parts: ["", ".crc32c"] }],
    "its checksum as the last part": [
      { codecs: ["crc32c"], parts: [".crc32c", ""] },
    ],
    "bytes at its end; expected it as the last part": [
      { ...SHARDED, parts: [".index", ""] },
    ],
    "bytes at its start; expected it as the first part": [
      {
        ...SHARDED,
        indexLocation: "start",
        parts: [".header:64", ".index", ""],
      },
    ],
    "expected it as the last before 4 bytes of checksums part": [{
      chunkShape: [8, 4],
      codecs: [arrayMetadata(SHARDED).codecs[0], "crc32c"],
      parts: [".index", "", ".crc32c"],
    }],
    'encode again, ["zstd"]': [{
      chunkShape: [8, 4],
      codecs: [arrayMetadata(SHARDED).codecs[0], "zstd"],
      parts: ["", ".index"],
    }],
    'Parts [".index"] have no room': [{ ...SHARDED, parts: [".index"] }],
  }],
  [TypeError, {
    '"shape" to be a list of whole numbers': [{ shape: 10 }, {
      shape: ["1", 2],
    }],
    'the option "dataType" to be a name': [
      { dataType: undefined },
      { dataType: 8 },
      { dataType: {} },
    ],
    'Missing option "fillValue"': [{ dataType: { name: "bfloat16" } }],
    "codecs to be a list": [{ codecs: "zstd" }],
    "a codec in codecs": [{ codecs: [7] }, { codecs: [""] }],
    '"transpose" to have an order': [{ codecs: ["transpose"] }],
    "Expected a suffix": [{ suffix: 7 }],
    '"dimensionNames" to be a list': [{ dimensionNames: ["x", 2] }],
    '"attributes" to be an object': [{ attributes: [] }],
    'expected "dataType"': [{ data_type: "uint8" }, { dtype: "uint8" }],
    'expected "chunkShape"': [{ chunks: [4, 4] }],
    'expected "keyEncoding"': [{ chunk_key_encoding: "v2" }],
    'Unknown option "colour"': [{ colour: 1 }],
    "parts to be a list": [{ parts: "" }],
  }],
];

Deno.test("arrayMetadata refuses options that are wrong or contradict each other", () => {
  for (const [ErrorClass, cases] of REFUSED) {
    for (const [text, all] of Object.entries(cases)) {
      for (const changes of all) {
        assertThrows(() => metadataWith(changes), ErrorClass, text);
      }
    }
  }
  for (const options of [undefined, null, [], "uint8"]) {
    assertThrows(() => arrayMetadata(options as never), TypeError, "options");
  }
});

Deno.test("arrayMetadata refuses what the array's storage refuses, with the place", () => {
  const cases: [object, string, string][] = [
    [{ keyEncoding: "v3" }, "", 'Unknown chunk key encoding "v3"'],
    [
      { parts: ["", "0:4"] },
      "/storage_transformers/0/configuration/parts/1/key_suffix",
      'Two parts could be stored under the key "c/1/10"',
    ],
    [
      { ...SHARDED, indexCodecs: ["zstd"] },
      "/codecs/0/configuration/index_codecs",
      "Expected index_codecs to be bytes, and maybe crc32c after it",
    ],
    [
      { ...SHARDED, indexLocation: "middle" },
      "/codecs/0/configuration/index_location",
      'Expected index_location "start" or "end", found "middle"',
    ],
  ];
  for (const [changes, path, message] of cases) {
    const error = assertThrows(
      () => metadataWith(changes),
      MetadataError,
      message,
    );
    assertEquals(error.path, path);
  }
});

Deno.test("arrayMetadata takes a chunk key encoding in any form, and a suffix after it", () => {
  const cases: [object, string][] = [
    [{}, "/c/1/0"],
    [{ suffix: ".x" }, "/c/1/0.x"],
    [{ keyEncoding: "v2" }, "/1.0"],
    [{ keyEncoding: "v2", suffix: ".x" }, "/1.0.x"],
    [{ keyEncoding: new V2ChunkKeyEncoding("/") }, "/1/0"],
    [{ keyEncoding: new DefaultChunkKeyEncoding("."), suffix: "" }, "/c.1.0"],
    [
      {
        keyEncoding: { name: "default", configuration: { separator: "." } },
        suffix: ".x",
      },
      "/c.1.0.x",
    ],
  ];
  for (const [changes, key] of cases) {
    const metadata = metadataWith(changes);
    const chunks = new ArrayChunks(new MemoryStore(), "", metadata);
    assertEquals(chunks.key([1, 0]), key);
    assertEquals(typeof metadata.chunk_key_encoding, "object");
  }
});

Deno.test("createArrayChunks takes metadata and parts from variables, without type assertions", async () => {
  const parts = [{ keySuffix: ".head", size: 4 }, { keySuffix: "" }];
  assertEquals(partsOf({ parts }), [[".head", 4], [""]]);
  const listed: readonly Part[] = parts;
  assertEquals(listed.length, 2);
  const options = { ...PLAIN, codecs: ["zstd"], parts };
  assertEquals(arrayMetadata(options).shape, [10, 7]);
  const metadata = {
    zarr_format: 3,
    node_type: "array",
    shape: [10, 7],
    data_type: "uint16",
    chunk_grid: { name: "regular", configuration: { chunk_shape: [4, 4] } },
    chunk_key_encoding: { name: "default" },
    fill_value: 0,
    codecs: [
      { name: "bytes", configuration: { endian: "little" } },
      { name: "crc32c" },
    ],
  };
  const chunks = await createArrayChunks(new MemoryStore(), "", metadata);
  assertEquals(chunks.innerChunkShape, undefined);
});

Deno.test("arrayMetadata gives every index part the size of the index", () => {
  const length = fc.integer({ min: 1, max: 40 });
  const dimension = fc.tuple(length, length, length);
  fc.assert(fc.property(
    fc.array(dimension, { maxLength: 4 }),
    fc.boolean(),
    fc.constantFrom("start", "end"),
    (dimensions, hasChecksum, location) => {
      const chunkShape = dimensions.map(([chunk]) => chunk);
      const counts = dimensions.map(([, count]) => count);
      const shardShape = chunkShape.map((n, i) => n * counts[i]!);
      const metadata = arrayMetadata({
        shape: dimensions.map(([, , length]) => length),
        dataType: "float32",
        chunkShape,
        shardShape,
        indexCodecs: hasChecksum ? ["bytes", "crc32c"] : ["bytes"],
        indexLocation: location as "start" | "end",
        parts: location === "start" ? [".index", ""] : ["", ".index"],
      });
      const [transformer] = metadata.storage_transformers!;
      const size = counts.reduce((product, n) => product * n, 16) +
        (hasChecksum ? 4 : 0);
      const parts = [{ key_suffix: "" }, { key_suffix: ".index", size }];
      assertEquals(transformer, {
        name: "concat-parts",
        configuration: {
          parts: location === "start" ? parts.reverse() : parts,
        },
      });
      const layout = parseShardLayout(metadata.codecs[0], shardShape);
      assertEquals(shardIndexSize(layout), size);
    },
  ));
});
