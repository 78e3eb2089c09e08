import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import * as zarr from "zarrita";
import { convert, verify } from "../../jobs.ts";
import {
  arrayMetadata,
  createArrayChunks,
  MemoryStore,
  openArrayChunks,
} from "../../mod.ts";
import { describeTiff, fitTiff, tiffContainer } from "../../tiff.ts";
import { registerCodecs, withZarrParts } from "../../zarrita.ts";
import { slowCoordinates } from "../shards/slow_shard.ts";
import { runs } from "../support/runs.ts";

registerCodecs(zarr);

/** Small arrays of two to four dimensions, of which some chunks are stored. */
const arrays = fc.integer({ min: 2, max: 4 }).chain((rank) =>
  fc.record({
    shape: fc.array(fc.integer({ min: 1, max: 40 }), {
      minLength: rank,
      maxLength: rank,
    }),
    chunkShape: fc.array(fc.integer({ min: 1, max: 25 }), {
      minLength: rank,
      maxLength: rank,
    }),
    dataType: fc.constantFrom("uint8", "int16", "float32"),
    fillValue: fc.constantFrom(0, 7),
    every: fc.integer({ min: 1, max: 4 }),
    bands: fc.constantFrom("auto" as const, undefined),
    isSparse: fc.boolean(),
    isBeside: fc.boolean(),
  })
).filter(({ shape }) => shape.reduce((product, n) => product * n, 1) < 50_000);

Deno.test("arrays that convert encodes anew for TIFF have the same elements, and each file has the shape of its part", async () => {
  await fc.assert(
    fc.asyncProperty(arrays, async (drawn) => {
      const { every, bands, isSparse, isBeside, ...array } = drawn;
      const metadata = arrayMetadata(array);
      const source = new MemoryStore();
      const chunks = await createArrayChunks(source, "", metadata);
      const size = { uint8: 1, int16: 2, float32: 4 }[array.dataType]!;
      const length = array.chunkShape.reduce((product, n) => product * n, size);
      for (const [i, place] of slowCoordinates(chunks.gridShape).entries()) {
        if (i % every > 0) continue;
        const bytes = Uint8Array.from(
          { length },
          (_, at) => at % size === size - 1 ? i + at : 64,
        );
        await chunks.set(place, bytes);
      }
      const target = new MemoryStore();
      await convert(source, target, {
        suffix: ".tiff",
        ...isBeside && { parts: ["", ".index"] },
        recode: (metadata) => fitTiff(metadata, { bands }),
        container: (metadata) =>
          tiffContainer(metadata, { bands, sparse: isSparse }),
      });

      const [expected, found] = await Promise.all(
        [source, target].map(async (store) => {
          const root = withZarrParts(store);
          const opened = await zarr.open(root, { kind: "array" });
          return await zarr.get(opened, null);
        }),
      );
      assertEquals(found, expected);
      const { findings } = await verify(target, "", { deep: true });
      assertEquals(findings, []);

      const files = await openArrayChunks(target);
      for await (const shard of files.list()) {
        const { pages } = await describeTiff((range) =>
          files.getRange(shard, range)
        );
        const part = array.shape.map((n, i) =>
          Math.min(files.chunkShape[i]!, n - shard[i]! * files.chunkShape[i]!)
        );
        const elements = pages.reduce(
          (sum, { shape }) => sum + shape.reduce((p, n) => p * n, 1),
          0,
        );
        assertEquals(elements, part.reduce((product, n) => product * n, 1));
        assert(pages.every(({ problem }) => problem === undefined));
      }
    }),
    { numRuns: runs(100) },
  );
});
