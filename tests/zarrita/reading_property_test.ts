import { assertEquals } from "@std/assert";
import fc from "fast-check";
import * as zarr from "zarrita";
import { MemoryStore, type Store } from "../../mod.ts";
import { registerCodecs, withZarrParts } from "../../zarrita.ts";
import { encodeJson } from "../support/documents.ts";
import { runs } from "../support/runs.ts";
import { type AnyArray, arraysOf } from "./any_array.ts";
import { chunkOf, elementsOf, sizeOf } from "./elements.ts";
import { storeByHand } from "./encoded_by_hand.ts";
import {
  placesOf,
  type Selection,
  selectionsOf,
  shapeOf,
} from "./selections.ts";

registerCodecs(zarr.registry);

interface Case {
  array: AnyArray;
  selections: Selection[];
  path: string;
  isMap: boolean;
}

const cases: fc.Arbitrary<Case> = fc.nat(3).chain(arraysOf).chain((array) =>
  fc.record({
    array: fc.constant(array),
    selections: fc.array(selectionsOf(array.shape), { maxLength: 4 }),
    path: fc.constantFrom("", "a", "c/0", "é b/c"),
    isMap: fc.boolean(),
  })
);

/** The array as zarrita stores it by itself: with `default` keys, not in shards or parts. */
async function plainArray(
  { type, shape, chunkShapes, elements, endian, metadata }: AnyArray,
): Promise<zarr.Array<zarr.DataType>> {
  const { storage_transformers: _, ...plain } = metadata;
  const document = encodeJson({
    ...plain,
    chunk_grid: {
      name: "regular",
      configuration: { chunk_shape: chunkShapes.at(-1)! },
    },
    chunk_key_encoding: { name: "default" },
    codecs: [{
      name: "bytes",
      configuration: sizeOf(type) === 1 ? {} : { endian },
    }],
  });
  const store = new Map<string, Uint8Array>([["/zarr.json", document]]);
  const array = await zarr.open(store, { kind: "array" });
  const value = shape.length === 0
    ? elements[0]
    : chunkOf(elements, type, shape);
  await zarr.set(array, null, value as zarr.Chunk<zarr.DataType>);
  return array;
}

Deno.test("zarr.get reads any array encoded by hand like the plain array, whole and in slices", async () => {
  await fc.assert(
    fc.asyncProperty(cases, async ({ array, selections, path, isMap }) => {
      const { shape, elements } = array;
      const store = isMap ? new Map() as unknown as Store : new MemoryStore();
      await storeByHand(store, path, array);
      const root = zarr.root(withZarrParts(store)).resolve(path);
      const opened = await zarr.open(root, { kind: "array" });
      assertEquals(opened.shape, shape);
      assertEquals(opened.chunks, array.chunkShapes.at(-1));
      assertEquals(elementsOf(await zarr.get(opened)), elements);

      const plain = await plainArray(array);
      for (const selection of selections) {
        const read = await zarr.get(opened, selection);
        const expected = placesOf(selection, shape).map((i) => elements[i]!);
        assertEquals(elementsOf(read), expected);
        if (typeof read === "object") {
          assertEquals(read.shape, shapeOf(selection, shape));
        }
        const same = await zarr.get(plain, selection);
        assertEquals(elementsOf(same), elementsOf(read));
      }
    }),
    { numRuns: runs(150) },
  );
});
