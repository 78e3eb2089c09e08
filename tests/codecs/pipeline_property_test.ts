import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import * as zarr from "zarrita";
import { oracleEncode, oracleKept } from "./packbits_oracle.ts";
import { anyCase, strides } from "./packbits_support.ts";
import { type Codecs, CRC32C, create } from "./pipeline_support.ts";

const anyPipeline = fc.record({
  any: anyCase,
  hasChecksum: fc.boolean(),
  order: fc.option(fc.array(fc.nat(), { minLength: 5, maxLength: 5 })),
});

Deno.test("zarrita writes and reads arrays with packbits, crc32c and transpose, as the oracle does", async () => {
  let transposed = 0;
  await fc.assert(
    fc.asyncProperty(anyPipeline, async ({ any, hasChecksum, order }) => {
      const { kind, shape, configuration } = any;
      // zarrita copies by value, and a NaN may get other bits on its way.
      const patterns = any.patterns.map((pattern) =>
        Object.is((kind.of([pattern]) as never)[0], NaN) ? 0n : pattern
      );
      const dimensions = shape.map((_, i) => i);
      if (order) dimensions.sort((a, b) => order[a]! - order[b]!);
      const codecs: Codecs = [
        ...(order
          ? [{ name: "transpose", configuration: { order: dimensions } }]
          : []),
        { name: "packbits", configuration: { ...configuration } },
        ...(hasChecksum ? [CRC32C] : []),
      ];
      const store = new Map<zarr.AbsolutePath, Uint8Array>();
      const array = await create(store, kind.dataType, shape, codecs);
      const data = kind.of(patterns);
      const value = shape.length === 0
        ? kind.dataType === "bool" ? patterns[0] === 1n : data[0 as never]
        : { data, shape: [...shape], stride: strides(shape) };
      await zarr.set(array, null, value as never);

      // The places of the elements in the order that they are stored in.
      const stride = strides(shape);
      const inOrder = dimensions.map((d) => ({
        length: shape[d]!,
        step: stride[d]!,
      }));
      const places = inOrder.reduce(
        (all, { length, step }) =>
          all.flatMap((place) =>
            Array.from({ length }, (_, i) => place + i * step)
          ),
        [0],
      );
      if (places.some((place, i) => place !== i)) transposed++;
      const stored = store.get(`/a/c${shape.map(() => "/0").join("")}`)!;
      const expected = oracleEncode(
        places.map((place) => patterns[place]!),
        kind,
        configuration,
      );
      assertEquals(stored.length, expected.length + (hasChecksum ? 4 : 0));
      assertEquals(Array.from(stored.subarray(0, expected.length)), expected);
      const read = await array.getChunk(dimensions.map(() => 0));
      const kept = kind.patternsOf(read.data as never);
      assertEquals(
        kept,
        oracleKept(
          places.map((place) => patterns[place]!),
          kind,
          configuration,
        ),
      );
      assertEquals(read.stride, strides(shape, dimensions));
    }),
    { numRuns: 400 },
  );
  assert(transposed > 0);
});
