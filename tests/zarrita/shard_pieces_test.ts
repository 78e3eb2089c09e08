import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import fc from "fast-check";
import * as zarr from "zarrita";
import { piecesOf } from "../../src/zarrita/selection.ts";
import { chunkOf } from "./elements.ts";
import { placesOf, selectionsOf, shapeOf } from "./selections.ts";

interface View {
  data: Int32Array;
  shape: number[];
  stride: number[];
}

/** The elements of a view one by one, in C order. */
function elementsIn({ data, shape, stride }: View): number[] {
  return shape.reduce<number[]>(
    (places, length, i) =>
      places.flatMap((place) =>
        Array.from({ length }, (_, j) => place + j * stride[i]!)
      ),
    [0],
  ).map((place) => data[place]!);
}

Deno.test("piecesOf gives each selected element once, to the piece of its shard, and each shard one piece", () => {
  const lengths = fc.tuple(
    fc.integer({ min: 1, max: 9 }),
    fc.integer({ min: 1, max: 4 }),
  );
  const cases = fc.array(lengths, { minLength: 1, maxLength: 3 })
    .chain((lengths) => {
      const shape = lengths.map(([length]) => length);
      return fc.record({
        shape: fc.constant(shape),
        shardShape: fc.constant(lengths.map(([, length]) => length)),
        selection: selectionsOf(shape),
        isReversed: fc.boolean(),
      });
    });
  fc.assert(
    fc.property(cases, ({ shape, shardShape, selection, isReversed }) => {
      const selected = shapeOf(selection, shape);
      const places = placesOf(selection, shape);
      const value = chunkOf(places, "int32", selected) as View;
      if (isReversed) { // Elements in Fortran order.
        value.stride = value.shape.map((_, i) =>
          value.shape.slice(0, i).reduce((product, n) => product * n, 1)
        );
        const order = elementsIn({
          ...value,
          data: Int32Array.from(value.data.keys()),
        });
        const data = new Int32Array(value.data.length);
        order.forEach((place, i) => data[place] = places[i]!);
        value.data = data;
      }
      const shards = new Set<string>();
      const found: number[] = [];
      for (const piece of piecesOf(selection, value, shape, shardShape)) {
        const piecePlaces = placesOf(piece.selection, shape);
        assertEquals(elementsIn(piece.value as View), piecePlaces);
        const inShards = new Set(piecePlaces.map((place) => {
          const shard: number[] = [];
          for (let i = shape.length - 1; i >= 0; i--) {
            shard.unshift(Math.floor(place % shape[i]! / shardShape[i]!));
            place = Math.floor(place / shape[i]!);
          }
          return shard.join();
        }));
        assertEquals(inShards.size, 1);
        const [shard] = inShards;
        assert(!shards.has(shard!));
        shards.add(shard!);
        found.push(...piecePlaces);
      }
      assertEquals(found.sort((a, b) => a - b), places.sort((a, b) => a - b));
    }),
  );
});

Deno.test("piecesOf copies no elements, and gives one element to all pieces", () => {
  const data = new Uint8Array(8);
  const chunk = { data, shape: [8], stride: [1] };
  for (const { value } of piecesOf(null, chunk, [8], [4])) {
    assertStrictEquals((value as typeof chunk).data.buffer, data.buffer);
  }
  assertEquals(
    [...piecesOf(null, 7, [8], [4])].map(({ value }) => value),
    [7, 7],
  );
  assertEquals([...piecesOf([zarr.slice(3, 3)], 7, [8], [4])], []);
});

Deno.test("piecesOf copies texts", () => {
  const texts = ["a", "bc", "d", "", "ef", "g"];
  for (const [shape, shardShape] of [[[6], [4]], [[3, 2], [2, 1]]]) {
    const found: unknown[] = [];
    const value = { data: texts, shape, stride: [2, 1].slice(-shape!.length) };
    for (const piece of piecesOf(null, value, shape!, shardShape!)) {
      const { data, stride } = piece.value as typeof value;
      const [first] = placesOf(piece.selection, shape!);
      for (const place of placesOf(piece.selection, shape!)) {
        // Strides are those of the whole value.
        found[place] = data[place - first!];
      }
      assertEquals(stride, value.stride);
    }
    assertEquals(found, texts);
  }
});
