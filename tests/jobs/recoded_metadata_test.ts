import {
  type ArrayMetadata,
  arrayMetadata,
  createArrayChunks,
  MemoryStore,
} from "../../mod.ts";
import { convert, type Recoding } from "../../jobs.ts";
import { assertEquals, assertRejects } from "@std/assert";

const SHARDED: ArrayMetadata = arrayMetadata({
  shape: [10, 200, 200],
  dataType: "uint16",
  shardShape: [2, 64, 64],
  chunkShape: [1, 32, 32],
  codecs: ["gzip"],
  parts: ["", ".index"],
});

/** The metadata that a conversion would write. */
async function recoded(
  metadata: ArrayMetadata,
  recode: Recoding,
): Promise<ArrayMetadata> {
  const store = new MemoryStore();
  await createArrayChunks(store, "", metadata);
  const { arrays } = await convert(store, new MemoryStore(), {
    recode,
    dryRun: true,
  });
  return arrays[0]!.metadata;
}

const INDEX_CODECS = [
  { name: "bytes", configuration: { endian: "little" } },
  { name: "crc32c" },
];

Deno.test("recode changes what it names, and the size of the index", async () => {
  const { codecs, chunk_grid, storage_transformers } = await recoded(SHARDED, {
    codecs: "zstd:5",
    chunks: [1, 64, 64],
    shards: [1, 256, 256],
  });
  assertEquals(chunk_grid.configuration.chunk_shape, [1, 256, 256]);
  assertEquals(codecs, [{
    name: "sharding_indexed",
    configuration: {
      chunk_shape: [1, 64, 64],
      codecs: [
        { name: "bytes", configuration: { endian: "little" } },
        { name: "zstd", configuration: { level: 5, checksum: false } },
      ],
      index_codecs: INDEX_CODECS,
      index_location: "end",
    },
  }]);
  assertEquals(storage_transformers, [{
    name: "concat-parts",
    configuration: {
      parts: [{ key_suffix: "" }, { key_suffix: ".index", size: 260 }],
    },
  }]);
});

Deno.test("recode keeps what it does not name", async () => {
  const { codecs, chunk_grid } = await recoded(SHARDED, {
    chunks: [2, 16, 64],
  });
  assertEquals(chunk_grid.configuration.chunk_shape, [2, 64, 64]);
  const { configuration } = codecs[0] as { configuration: unknown };
  assertEquals(configuration, {
    chunk_shape: [2, 16, 64],
    codecs: [
      { name: "bytes", configuration: { endian: "little" } },
      { name: "gzip", configuration: { level: 5 } },
    ],
    index_codecs: INDEX_CODECS,
    index_location: "end",
  });
  assertEquals(await recoded(SHARDED, { codecs: "gzip" }), SHARDED);
  assertEquals(await recoded(SHARDED, {}), SHARDED);
  assertEquals(
    await recoded(SHARDED, { chunks: [1, 32, 32], shards: [2, 64, 64] }),
    SHARDED,
  );
});

Deno.test("recode without shards removes the part of the index", async () => {
  const metadata = await recoded(SHARDED, { shards: null });
  assertEquals(metadata.chunk_grid.configuration.chunk_shape, [1, 32, 32]);
  assertEquals(metadata.storage_transformers, undefined);
});

Deno.test("recode keeps the byte order, and replaces all other codecs", async () => {
  const big = arrayMetadata({
    shape: [8, 8],
    dataType: "int32",
    chunkShape: [4, 4],
    codecs: [
      { name: "transpose", configuration: { order: [1, 0] } },
      { name: "bytes", configuration: { endian: "big" } },
      "crc32c",
    ],
    parts: ["", ".crc32c"],
  });
  const { codecs, storage_transformers } = await recoded(big, {
    codecs: ["zstd", { name: "numcodecs.fletcher32" }],
  });
  assertEquals(codecs, [
    { name: "bytes", configuration: { endian: "big" } },
    { name: "zstd", configuration: { level: 3, checksum: false } },
    { name: "numcodecs.fletcher32" },
  ]);
  assertEquals(storage_transformers, undefined);
});

Deno.test("recode puts the bytes after codecs from array to array", async () => {
  const transpose = { name: "transpose", configuration: { order: [2, 0, 1] } };
  const bytes = { name: "bytes", configuration: { endian: "little" } };
  const crc32c = { name: "crc32c" };
  const cases: [NonNullable<Recoding["codecs"]>, ArrayMetadata["codecs"]][] = [
    [[transpose], [transpose, bytes]],
    [[transpose, crc32c], [transpose, bytes, crc32c]],
    [[transpose, bytes, crc32c], [transpose, bytes, crc32c]],
    [[crc32c], [bytes, crc32c]],
    [[], [bytes]],
  ];
  for (const [codecs, expected] of cases) {
    const metadata = await recoded(SHARDED, { shards: null, codecs });
    assertEquals(metadata.codecs, expected);
  }
});

Deno.test("recode keeps all codecs up to the bytes of texts of any length, and refuses to divide texts", async () => {
  const transpose = { name: "transpose", configuration: { order: [1, 0] } };
  const texts = {
    ...arrayMetadata({ shape: [4, 6], dataType: "uint8", chunkShape: [2, 3] }),
    data_type: "string",
    fill_value: "",
    codecs: [transpose, { name: "vlen-utf8" }, { name: "gzip" }],
  } as ArrayMetadata;
  assertEquals((await recoded(texts, { codecs: "none" })).codecs, [
    transpose,
    { name: "vlen-utf8" },
  ]);
  const divided: Recoding[] = [
    { chunks: [4, 3] },
    { codecs: [{ name: "vlen-utf8" }] },
  ];
  for (const recode of divided) {
    await assertRejects(
      () => recoded(texts, recode),
      RangeError,
      'Cannot divide elements of the data type "string"',
    );
  }
});

const TEXTS: [text: string, codecs: unknown[]][] = [
  ["none", []],
  ["zstd", [{ name: "zstd", configuration: { level: 3, checksum: false } }]],
  ["zstd:-5", [{
    name: "zstd",
    configuration: { level: -5, checksum: false },
  }]],
  ["gzip", [{ name: "gzip", configuration: { level: 5 } }]],
  ["zlib:9", [{ name: "numcodecs.zlib", configuration: { level: 9 } }]],
  ["blosc:lz4:1", [{
    name: "blosc",
    configuration: {
      typesize: 2,
      cname: "lz4",
      clevel: 1,
      shuffle: "shuffle",
      blocksize: 0,
    },
  }]],
  ["zstd, crc32c", [
    { name: "zstd", configuration: { level: 3, checksum: false } },
    { name: "crc32c", configuration: {} },
  ]],
  ['[{"name":"gzip","configuration":{"level":1}}]', [
    { name: "gzip", configuration: { level: 1 } },
  ]],
  ['{"name":"bytes","configuration":{"endian":"big"}}', []],
];

for (const [text, expected] of TEXTS) {
  Deno.test(`recode takes the codecs ${text}`, async () => {
    const { codecs } = await recoded(SHARDED, { shards: null, codecs: text });
    const endian = text.includes("big") ? "big" : "little";
    const bytes = { name: "bytes", configuration: { endian } };
    assertEquals(codecs, [bytes, ...expected] as typeof codecs);
  });
}

const MISTAKES: [recode: Recoding, message: string][] = [
  [
    { chunks: [1, 48, 48] },
    "Expected shards that are multiples of the chunks [1, 48, 48] in every dimension, the shards of the array are [2, 64, 64]: shards of [2, 96, 96] would fit",
  ],
  [
    { shards: [2, 100, 64] },
    "found [2, 100, 64]: shards of [2, 128, 64] would fit, or other chunks than those of the array, [1, 32, 32]",
  ],
  [{ chunks: [32, 32] }, "as many dimensions as the array, 3, found [32, 32]"],
  [{ chunks: [1, 0, 32] }, "whole numbers from 1, found [1, 0, 32]"],
  [{ shards: [1, 1.5, 32] }, "whole numbers from 1, found [1, 1.5, 32]"],
  [{ codecs: "zsdt:5" }, 'expected "zstd:5"'],
  [{ codecs: "zstd:23" }, "from -131072 to 22, found 23"],
  [{ codecs: "gzip:10" }, "from 0 to 9, found 10"],
  [{ codecs: "gzip:x" }, 'as a whole number, such as "gzip:5"'],
  [{ codecs: "blosc:lz5" }, 'Unknown compressor "lz5" of blosc'],
  [{ codecs: "crc32c:1" }, "Expected no level of crc32c"],
  [{ codecs: "zstd,transpose" }, "transpose"],
  [{ codecs: "[nothing" }, "or their metadata as JSON"],
  [{ codecs: '[{"name":"sharding_indexed"}]' }, '"shards" sets the shape'],
];

for (const [recode, message] of MISTAKES) {
  Deno.test(`recode refuses ${JSON.stringify(recode)}`, async () => {
    await assertRejects(() => recoded(SHARDED, recode), RangeError, message);
  });
}

Deno.test("recode refuses members of wrong types", async () => {
  const cases: [unknown, string][] = [
    [{ codec: "zstd" }, 'expected "recode.codecs"'],
    [{ codecs: 5 }, "a list of codecs"],
    [{ codecs: [5] }, "Expected a codec"],
    [{ chunks: "1,2,3" }, "a list of whole numbers"],
    [[], "an object, or a function"],
  ];
  for (const [recode, message] of cases) {
    await assertRejects(
      () => recoded(SHARDED, recode as Recoding),
      TypeError,
      message,
    );
  }
});

Deno.test("recode gives named shards their index at the end", async () => {
  const usual = arrayMetadata({
    shape: [200, 200],
    dataType: "uint16",
    shardShape: [64, 64],
    chunkShape: [32, 32],
    codecs: ["zstd"],
  });
  const [sharding] = usual.codecs as unknown as [
    { name: string; configuration: Record<string, unknown> },
  ];
  const atStart = {
    ...sharding,
    configuration: { ...sharding.configuration, index_location: "start" },
  };
  for (const codecs of [[atStart], [sharding]]) {
    const metadata = { ...usual, codecs } as unknown as ArrayMetadata;
    const named = await recoded(metadata, { shards: [64, 64] });
    assertEquals(named.codecs, usual.codecs);
    // Shards that are not named stay as they are.
    const kept = await recoded(metadata, { chunks: [32, 32] });
    assertEquals(kept.codecs, codecs as typeof kept.codecs);
  }
});

Deno.test("recode refuses shards whose index is too long to be held in memory", async () => {
  const array = arrayMetadata({
    shape: [2, 2],
    dataType: "uint8",
    chunkShape: [1, 1],
  });
  await recoded(array, { shards: [2 ** 14, 2 ** 14 - 1] });
  await assertRejects(
    () => recoded(array, { shards: [2 ** 14, 2 ** 14] }),
    RangeError,
    "of 268435456 chunks each, whose index takes 4294967296 bytes: expected at most 4294967295",
  );
});

Deno.test("recode refuses chunks that are too long to be held in memory", async () => {
  const most = 2 ** 32 - 1;
  const of = (chunkShape: number[]) =>
    arrayMetadata({ shape: [2, 2], dataType: "uint8", chunkShape });
  const cases: [ArrayMetadata, Recoding, string | undefined][] = [
    [of([1, most]), { chunks: [1, 1] }, undefined],
    [of([1, 1]), { chunks: [1, most] }, undefined],
    [of([1, 1]), { chunks: [1, 1], shards: [2 ** 10, 2 ** 10] }, undefined],
    [of([2, 2 ** 31]), { chunks: [1, 1] }, "from chunks [2, 2147483648]"],
    [of([2, 2 ** 31]), { codecs: "zstd" }, "from chunks [2, 2147483648]"],
    [of([1, 1]), { chunks: [1, most + 1] }, "to chunks [1, 4294967296]"],
    // Chunks that stay as they are encoded need no such memory.
    [of([2, 2 ** 31]), { shards: [2, 2 ** 32] }, undefined],
  ];
  for (const [metadata, recode, problem] of cases) {
    if (problem === undefined) await recoded(metadata, recode);
    else {
      await assertRejects(
        () => recoded(metadata, recode),
        RangeError,
        `Cannot recode ${problem}, which take 4294967296 bytes each: expected at most 4294967295`,
      );
    }
  }
});
