import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { convert } from "../../jobs.ts";
import {
  arrayMetadata,
  type ArrayMetadataOptions,
  createArrayChunks,
  MemoryStore,
} from "../../mod.ts";
import { type FileRecoding, fitZip, zipContainer } from "../../zip.ts";
import { runs } from "../support/runs.ts";

function metadataOf(variant: Partial<ArrayMetadataOptions>) {
  return arrayMetadata({
    shape: [900, 900],
    dataType: "float32",
    chunkShape: [90, 90],
    ...variant,
  });
}

Deno.test("fitZip joins chunks, and keeps shards that can be zip files", () => {
  const cases: [
    Partial<ArrayMetadataOptions>,
    FileRecoding,
    ReturnType<typeof fitZip>,
  ][] = [
    [{ shardShape: [900, 900] }, {}, undefined],
    [{ shardShape: [900, 900], parts: [".header:9", ""] }, {}, undefined],
    [{}, {}, { chunks: [90, 90], shards: [900, 900] }],
    [{ chunkShape: [1, 1] }, {}, { chunks: [1, 1], shards: [4, 900] }],
    [
      { shape: [10, 90000, 90000], chunkShape: [1, 900, 900] },
      {},
      { chunks: [1, 900, 900], shards: [1, 900, 18000] },
    ],
    [
      { shape: [9], chunkShape: [2], dataType: "string", fillValue: "" },
      {},
      { chunks: [2], shards: [10] },
    ],
    [{ shape: [], chunkShape: [] }, {}, { chunks: [], shards: [] }],
    [{ shape: [0], chunkShape: [3] }, {}, { chunks: [3], shards: [3] }],
    [
      { shardShape: [900, 900], indexLocation: "start" },
      {},
      { chunks: [90, 90], shards: [900, 900] },
    ],
    [
      { shardShape: [900, 900] },
      { codecs: "zstd:5", chunks: [100, 80] },
      { codecs: "zstd:5", chunks: [100, 80], shards: [900, 960] },
    ],
  ];
  for (const [variant, options, expected] of cases) {
    assertEquals(fitZip(metadataOf(variant), options), expected);
  }
});

Deno.test("fitZip refuses options that are unknown or of a wrong type", () => {
  const wrong: [unknown, string][] = [
    [{ level: 5 }, 'Unknown option "level" of fitZip'],
    [{ chunks: [0] }, "a list of whole numbers from 1"],
    [{ codecs: 5 }, 'a text such as "zstd:5"'],
  ];
  for (const [options, message] of wrong) {
    assertThrows(
      () => fitZip(metadataOf({}), options as FileRecoding),
      TypeError,
      message,
    );
  }
});

Deno.test("fitZip finds shards that zipContainer accepts without parts", async () => {
  const arrays = fc.integer({ min: 0, max: 4 }).chain((rank) => {
    const lengths = (arb: fc.Arbitrary<number>) =>
      fc.array(arb, { minLength: rank, maxLength: rank });
    return fc.record({
      shape: lengths(fc.integer({ min: 0, max: 9000 })),
      chunk: lengths(fc.integer({ min: 1, max: 500 })),
      counts: fc.option(lengths(fc.integer({ min: 1, max: 3 }))),
      indexLocation: fc.constantFrom("start" as const, "end" as const),
    });
  });
  await fc.assert(
    fc.asyncProperty(
      arrays,
      async ({ shape, chunk, counts, indexLocation }) => {
        const metadata = metadataOf({
          shape,
          chunkShape: chunk,
          ...counts && {
            shardShape: chunk.map((n, i) => n * counts[i]!),
            indexLocation,
          },
        });
        const fit = fitZip(metadata);
        const store = new MemoryStore();
        await createArrayChunks(store, "", metadata);
        const { arrays } = await convert(store, new MemoryStore(), {
          recode: () => fit,
          container: (metadata) => zipContainer(metadata),
          dryRun: true,
        });
        assertEquals(fitZip(arrays[0]!.metadata), undefined);
        assertEquals(fit?.chunks ?? chunk, chunk);
        if (counts !== null) return;
        const product = (list: readonly number[]) =>
          list.reduce((result, n) => result * n, 4);
        assert(product(fit!.shards!) <= Math.max(2 ** 26, product(chunk)));
      },
    ),
    { numRuns: runs(200) },
  );
});
