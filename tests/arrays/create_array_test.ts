import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  type ArrayMetadata,
  createArrayChunks,
  MemoryStore,
  MetadataError,
  openArrayChunks,
} from "../../mod.ts";
import { contentsOf } from "../support/bytes.ts";
import { encodeJson, readJson } from "../support/documents.ts";
import { arrayMetadata, concatParts } from "../support/metadata.ts";
import {
  CHECKSUM_EXAMPLE,
  SHARDING_EXAMPLE,
} from "../zarrita/document_examples.ts";

const LITTLE = { name: "bytes", configuration: { endian: "little" } };
const ZSTD = { name: "zstd", configuration: { level: 0, checksum: false } };
const CRC32C = { name: "crc32c" };

/** Returns the document that `createArrayChunks` writes. */
async function written(metadata: unknown): Promise<Record<string, unknown>> {
  const store = new MemoryStore();
  const { metadata: returned } = await createArrayChunks(
    store,
    "a",
    metadata as ArrayMetadata,
  );
  const document = await readJson(store, "/a/zarr.json");
  assertEquals(returned, document);
  assertEquals((await openArrayChunks(store, "a")).metadata, document);
  // What was written is complete: it is written again as it is.
  const again = new MemoryStore();
  await createArrayChunks(again, "a", document);
  assertEquals(await contentsOf(again), await contentsOf(store));
  return document;
}

/** Asserts that `createArrayChunks` refuses metadata and writes nothing. */
async function assertRefused(
  metadata: unknown,
  path: string,
  message: string,
): Promise<void> {
  const store = new MemoryStore();
  const error = await assertRejects(
    () => createArrayChunks(store, "a", metadata as ArrayMetadata),
    MetadataError,
    message,
  );
  assertEquals(error.path, path, error.message);
  assertEquals(error.message.includes("/a/zarr.json"), true, error.message);
  assertEquals(await contentsOf(store), {});
}

/** Asserts that an array is read although it could not be created. */
async function assertRead(metadata: unknown): Promise<void> {
  const store = new MemoryStore([["/a/zarr.json", encodeJson(metadata)]]);
  await openArrayChunks(store, "a");
}

function sharding(changes: Record<string, unknown> = {}) {
  return {
    name: "sharding_indexed",
    configuration: {
      chunk_shape: [2, 2],
      codecs: [{ name: "bytes" }],
      index_codecs: [LITTLE, CRC32C],
      index_location: "end",
      ...changes,
    },
  };
}

/** Metadata of shards of 2 × 2 inner chunks, whose index takes 68 bytes. */
function sharded(
  changes: Record<string, unknown> = {},
  ...transformers: ReturnType<typeof concatParts>[]
): ArrayMetadata {
  return arrayMetadata({
    codecs: [sharding(changes)],
    ...transformers.length > 0 && { storage_transformers: transformers },
  });
}

Deno.test("createArrayChunks completes the documents' examples, which openArrayChunks reads as they stand", async () => {
  const checksum = JSON.parse(CHECKSUM_EXAMPLE);
  const shards = JSON.parse(SHARDING_EXAMPLE);
  for (const document of [checksum, shards]) {
    const store = new MemoryStore([["/a/zarr.json", encodeJson(document)]]);
    assertEquals((await openArrayChunks(store, "a")).metadata, document);
  }
  assertEquals(await written(checksum), {
    ...checksum,
    fill_value: 0,
    codecs: [{ name: "bytes" }, ZSTD, CRC32C],
  });
  assertEquals(await written(shards), {
    ...shards,
    chunk_key_encoding: { name: "default", configuration: { separator: "/" } },
    fill_value: 0,
  });
});

Deno.test("createArrayChunks writes a missing fill value", async () => {
  const cases: [dataType: unknown, fill: unknown][] = [
    ["bool", false],
    ["int8", 0],
    ["uint64", 0],
    ["float16", 0],
    ["complex64", [0, 0]],
    ["complex128", [0, 0]],
    ["string", ""],
    ["bytes", ""],
    ["variable_length_bytes", ""],
    ["r8", [0]],
    ["r24", [0, 0, 0]],
    ["bfloat16", 0],
    ["int4", 0],
    ["float8_e4m3", 0],
    ["complex_bfloat16", [0, 0]],
    [{ name: "uint16" }, 0],
  ];
  for (const [data_type, fill] of cases) {
    const { fill_value: _, ...metadata } = arrayMetadata({
      data_type,
      codecs: ["crc32c"],
    });
    assertEquals((await written(metadata)).fill_value, fill, `${data_type}`);
  }
  for (
    const data_type of [
      { name: "numpy.datetime64", configuration: { unit: "s" } },
      "https://example.org/types/polygon",
      "r80000000",
    ]
  ) {
    const { fill_value: _, ...metadata } = arrayMetadata({ data_type });
    await assertRefused(metadata, "/fill_value", 'Missing member "fill_value"');
    await assertRead(metadata);
  }
});

Deno.test("createArrayChunks keeps fill values of the data type, and refuses others", async () => {
  const kept: [dataType: string, ...fills: unknown[]][] = [
    ["uint8", 0, 255, 7],
    ["int64", 1 - 2 ** 53, 12],
    ["bool", true, false, 0, 1],
    ["float32", 1.5, "NaN", "-Infinity", "0x7fc00000"],
    ["complex64", [1, "NaN"]],
    ["string", "x"],
    ["r16", [1, 2]],
    ["bfloat16", "NaN"],
    ["bytes", "AAA="],
  ];
  for (const [data_type, ...fills] of kept) {
    for (const fill_value of fills) {
      const codecs = ["crc32c"];
      const metadata = arrayMetadata({ data_type, fill_value, codecs });
      assertEquals((await written(metadata)).fill_value, fill_value);
    }
  }
  const refused: [dataType: string, ...fills: unknown[]][] = [
    ["uint8", 256, -1, 1.5, null, "NaN", [0], {}],
    ["int64", 2 ** 63, 2n ** 63n],
    ["uint64", -1n],
    ["bool", 2, "false", null],
    ["float32", null, "nan", "0x7fc0", [1]],
    ["complex64", 0, [1], [1, 2, 3], null],
    ["string", 0, null],
    ["bytes", null],
    ["r16", null],
  ];
  for (const [data_type, ...fills] of refused) {
    for (const fill_value of fills) {
      const codecs = ["crc32c"];
      const metadata = arrayMetadata({ data_type, fill_value, codecs });
      await assertRefused(metadata, "/fill_value", `"${data_type}"`);
    }
  }
});

Deno.test("createArrayChunks refuses data types that no client knows, and names those that are known", async () => {
  const names = [
    ...["uint9", "int7", "float17", "r7", "r0", "r12", "bool8", "complex32"],
    ...["int", "uint", "float", "str", "u2", "<u2", "np.uint8", "Float32"],
    ...["unit8", "object", "datetime64[ns]", "", " uint8", "uint8 ", "r"],
    `r${"8".repeat(1_000_000)}`,
    "x".repeat(1_000_000),
  ];
  for (const data_type of names) {
    await assertRefused(
      arrayMetadata({ data_type }),
      "/data_type",
      "Unknown data type ",
    );
    if (data_type !== "") await assertRead(arrayMetadata({ data_type }));
  }
  for (const name of ["uint9", "float17", "r7", "int"]) {
    await assertRefused(
      arrayMetadata({ data_type: { name } }),
      "/data_type/name",
      `Unknown data type "${name}"; `,
    );
  }
  const cases: [data_type: unknown, path: string, message: string][] = [
    ["uint9", "/data_type", 'known are "bool", "int8", '],
    [">f4", "/data_type", 'expected "float32", its name in Zarr v3'],
    [8, "/data_type", "Expected a data type, a name or an object"],
    [null, "/data_type", "Expected a data type, a name or an object"],
    [{}, "/data_type/name", 'Missing member "name"'],
    [{ name: "x", configuration: 1 }, "/data_type/configuration", "object"],
  ];
  for (const [data_type, path, message] of cases) {
    await assertRefused(arrayMetadata({ data_type }), path, message);
  }
  const { data_type: _, ...metadata } = arrayMetadata();
  await assertRefused(metadata, "/data_type", 'Missing member "data_type"');
});

Deno.test("createArrayChunks writes out the codecs, also of inner chunks", async () => {
  const cases: [dataType: string, given: unknown[], expected: unknown[]][] = [
    ["int16", [{ name: "bytes", configuration: {} }], [LITTLE]],
    ["bytes", ["zstd"], [{ name: "vlen-bytes" }, ZSTD]],
    ["bool", ["packbits", "crc32c"], [{ name: "packbits" }, CRC32C]],
    ["int32", [sharding({ codecs: ["zstd"], index_codecs: ["bytes"] })], [
      sharding({ codecs: [LITTLE, ZSTD], index_codecs: [LITTLE] }),
    ]],
    ["uint8", [
      sharding({
        codecs: [sharding({ chunk_shape: [1, 2], codecs: ["crc32c"] })],
      }),
      "crc32c",
    ], [
      sharding({
        codecs: [
          sharding({
            chunk_shape: [1, 2],
            codecs: [{ name: "bytes" }, CRC32C],
          }),
        ],
      }),
      CRC32C,
    ]],
  ];
  for (const [data_type, codecs, expected] of cases) {
    const { fill_value: _, ...metadata } = arrayMetadata({ data_type, codecs });
    assertEquals((await written(metadata)).codecs, expected);
  }
});

Deno.test("createArrayChunks refuses codecs that no client can use, some of which openArrayChunks reads", async () => {
  const inner = "/codecs/0/configuration";
  const transpose = (order: unknown) => ({
    name: "transpose",
    configuration: { order },
  });
  let deep = sharding();
  for (let i = 0; i < 40; i++) deep = sharding({ codecs: [deep] });
  const cases: [codecs: unknown, path: string, message: string, "read"?][] = [
    [[], "/codecs", "Expected at least one codec, found an empty list", "read"],
    ["bytes", "/codecs", 'Expected codecs to be a list, found "bytes"'],
    [[7], "/codecs", "Expected a codec in codecs"],
    [[""], "/codecs", "Expected a codec in codecs"],
    [[{ name: "zstd", configuration: 5 }], "/codecs", "configuration of"],
    [
      ["bytes", "bytes"],
      "/codecs",
      "Expected one codec from array to bytes",
      "read",
    ],
    [
      ["zstd", "bytes"],
      "/codecs",
      'Codec "bytes" (array to bytes) follows',
      "read",
    ],
    [["transpose"], "/codecs", "to have an order"],
    [[transpose([0, 0])], "/codecs/0/configuration/order", "once"],
    [[transpose([1, 2])], "/codecs/0/configuration/order", "once"],
    [[transpose([0])], "/codecs/0/configuration/order", "once"],
    [[transpose("C")], "/codecs/0/configuration/order", 'found "C"', "read"],
    [
      [{ name: "bytes", configuration: { endian: "middle" } }],
      "/codecs/0/configuration/endian",
      'found "middle"',
    ],
    [[sharding({ chunk_shape: [3, 2] })], `${inner}/chunk_shape`, "[3, 2]"],
    [[sharding({ chunk_shape: [2] })], `${inner}/chunk_shape`, "[2]"],
    [[sharding({ chunk_shape: [8, 8] })], `${inner}/chunk_shape`, "[8, 8]"],
    [[sharding({ chunk_shape: [0, 2] })], `${inner}/chunk_shape/0`, "from 1"],
    [[sharding({ codecs: [] })], `${inner}/codecs`, "empty list"],
    [[sharding({ codecs: undefined })], `${inner}/codecs`, "to be a list"],
    [[sharding({ index_codecs: [] })], `${inner}/index_codecs`, "empty list"],
    [
      [sharding({ index_codecs: ["bytes", "gzip"] })],
      `${inner}/index_codecs`,
      "Expected index_codecs to be bytes",
    ],
    [
      [sharding({ index_location: "middle" })],
      `${inner}/index_location`,
      '"middle"',
    ],
    [
      ["sharding_indexed"],
      `${inner}/chunk_shape`,
      'Missing member "chunk_shape"',
    ],
    [
      [sharding({ codecs: [sharding({ chunk_shape: [3, 1] })] })],
      `${inner}/codecs/0/configuration/chunk_shape`,
      "[3, 1]",
    ],
    [
      [deep],
      `${"/codecs/0/configuration".repeat(33)}/codecs`,
      "at most 32 shards in one another",
      "read",
    ],
  ];
  for (const [codecs, path, message, read] of cases) {
    await assertRefused(arrayMetadata({ codecs }), path, message);
    const reading = assertRead(arrayMetadata({ codecs }));
    if (read) await reading;
    else {
      const error = await assertRejects(() => reading, MetadataError);
      assert(error.path.startsWith("/codecs"), error.message);
    }
  }
  const { codecs: _, ...metadata } = arrayMetadata();
  await assertRefused(metadata, "/codecs", 'Missing member "codecs"');
  await assertRefused(
    arrayMetadata({ data_type: "string", fill_value: "", codecs: ["bytes"] }),
    "/codecs/0",
    'Expected the codec "vlen-utf8", since the elements differ in length',
  );
  // The shape of a shard behind a transposition is the transposed one.
  const chunk_grid = {
    name: "regular",
    configuration: { chunk_shape: [4, 6] },
  };
  for (const [chunk_shape, isRight] of [[[3, 2], true], [[2, 3], false]]) {
    const codecs = [transpose([1, 0]), sharding({ chunk_shape })];
    const metadata = arrayMetadata({ chunk_grid, codecs });
    if (isRight) await written(metadata);
    else {
      await assertRefused(
        metadata,
        "/codecs/1/configuration/chunk_shape",
        "[2, 3]",
      );
    }
  }
});

Deno.test("createArrayChunks refuses a part .index that cannot hold the index, and no other division", async () => {
  const part = (key_suffix: string, size?: number) =>
    size === undefined ? { key_suffix } : { key_suffix, size };
  const START = { index_location: "start" };
  const NO_SUM = { index_codecs: [LITTLE] };
  const right: [ReturnType<typeof part>[], Record<string, unknown>?][] = [
    [[part(""), part(".index", 68)]],
    [[part(".head", 9), part(""), part(".index", 68)]],
    [[part(""), part(".index", 64), part(".crc32c", 4)]],
    [[part(".index", 68), part("")], START],
    [[part(".index", 64), part(".sum", 4), part("")], START],
    [[part(""), part(".index", 64)], NO_SUM],
    // The document lets parts divide a chunk anywhere.
    [[part(""), part(".tail", 16)]],
    [[part(""), part(".tail", 1000)]],
    [[part(".a", 1), part("")]],
    [[part(".a", 60), part(".b", 8)]],
    [[part(".a", 100), part(".index")]],
    [[part(".a", 1), part(""), part(".b", 2), part(".c", 3)]],
  ];
  for (const [parts, changes] of right) {
    await written(sharded(changes, concatParts(...parts)));
  }
  const wrong: [
    ReturnType<typeof part>[],
    Record<string, unknown> | undefined,
    path: string,
    message: string,
  ][] = [
    [[part(""), part(".index", 67)], {}, "/1/size", "holds 67 bytes"],
    [[part(""), part(".index", 69)], {}, "/1/size", "takes 68 bytes"],
    [[part(""), part("x.index", 1604)], {}, "/1/size", '"x.index"'],
    [[part(""), part(".index", 64)], {}, "/1/size", "as the last part"],
    [[part(""), part(".index", 68)], NO_SUM, "/1/size", "takes 64 bytes"],
    [[part(".index", 68), part("")], {}, "/0/size", "at its end"],
    [[part(""), part(".index", 68)], START, "/1/size", "as the first part"],
    [[part(""), part(".index", 68), part(".b", 4)], {}, "/1/size", "2 of 3"],
    [[part(".b", 1), part(".index", 68), part("")], START, "/1/size", "first"],
    [[part(""), part(".index", 66), part(".b", 2)], {}, "/1/size", "66 bytes"],
    [[part(".a", 60), part(".b", 7)], {}, "", "hold 67 bytes"],
  ];
  for (const [parts, changes, path, message] of wrong) {
    const metadata = sharded(changes, concatParts(...parts));
    const place = `/storage_transformers/0/configuration/parts${path}`;
    await assertRefused(metadata, place, message);
    await assertRead(metadata);
  }
  // A checksum behind the shard lies behind the index.
  const behind = (...parts: ReturnType<typeof part>[]) =>
    arrayMetadata({
      codecs: [sharding(), "crc32c"],
      storage_transformers: [
        { name: "skipped", must_understand: false },
        concatParts(...parts),
      ],
    });
  await written(behind(part(""), part(".index", 68), part(".crc32c", 4)));
  await written(behind(part(""), part(".index", 72)));
  await assertRefused(
    behind(part(""), part(".index", 68)),
    "/storage_transformers/1/configuration/parts/1/size",
    "last before 4 bytes of checksums",
  );
  // Other codecs move the index; without shards there is none.
  const parts = [concatParts(part(""), part(".index", 5))];
  for (const codecs of [[sharding(), "gzip"], ["bytes"]]) {
    await written(arrayMetadata({ codecs, storage_transformers: parts }));
  }
});

Deno.test("createArrayChunks refuses dimension names and attributes that no client reads", async () => {
  for (const dimension_names of [["y"], ["y", 1], "yx", {}]) {
    await assertRefused(
      arrayMetadata({ dimension_names }),
      "/dimension_names",
      "Expected dimension_names to be a list of 2 names",
    );
  }
  for (const attributes of [[1], "x", 3]) {
    await assertRefused(
      arrayMetadata({ attributes }),
      "/attributes",
      "Expected attributes to be an object",
    );
  }
  await written(
    arrayMetadata({ dimension_names: ["y", null], attributes: {} }),
  );
});
