import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import * as zarr from "zarrita";
import {
  ArrayChunks,
  assertShardIndex,
  type EncodeShardOptions,
  MemoryStore,
  readShardIndex,
} from "../../mod.ts";
import { registerCodecs, setSharded, withZarrParts } from "../../zarrita.ts";
import { sliced } from "../stores/sliced.ts";
import { type AnyArray, arraysOf } from "./any_array.ts";
import { anyElements, chunkOf, type Element, elementsOf } from "./elements.ts";
import { storeByHand } from "./encoded_by_hand.ts";
import {
  placesOf,
  type Selection,
  selectionsOf,
  shapeOf,
} from "./selections.ts";

registerCodecs(zarr.registry);

interface Write {
  selection: Selection;
  isScalar: boolean;
  seed: number;
  way: "set" | "setSharded";
}

/** Arrays whose shards have no other bytes than zeros, so that inner chunks may move. */
const writable = (levels: number): fc.Arbitrary<AnyArray> =>
  arraysOf(levels).map((array) => {
    const { prefix, alignment } = array.shards;
    const zeros = new Uint8Array(prefix!.length);
    return { ...array, shards: { prefix: zeros, alignment } };
  });

const writesOf = ({ shape }: AnyArray): fc.Arbitrary<Write> =>
  fc.record({
    selection: selectionsOf(shape),
    isScalar: fc.boolean(),
    seed: fc.nat(),
    way: fc.constantFrom("set", "setSharded"),
  });

/** The value that a write passes to zarrita, and the elements at the changed places. */
function valueOf(
  { selection, isScalar, seed }: Write,
  { shape, type }: AnyArray,
): { value: zarr.Chunk<zarr.DataType>; changed: Map<number, Element> } {
  const places = placesOf(selection, shape);
  const selected = shapeOf(selection, shape);
  const all = isScalar || selected.length === 0;
  const elements = anyElements(type, all ? 1 : places.length, seed);
  return {
    value: (all ? elements[0] : chunkOf(elements, type, selected)) as never,
    changed: new Map(
      places.map((place, i) => [place, elements[all ? 0 : i]!]),
    ),
  };
}

async function write(
  array: zarr.Array<zarr.DataType, zarr.AsyncMutable>,
  write: Write,
  anyArray: AnyArray,
): Promise<Map<number, Element>> {
  const { value, changed } = valueOf(write, anyArray);
  const { selection, way } = write;
  const isSharded = anyArray.layouts.length > 0 && way === "setSharded";
  await (isSharded
    ? setSharded(zarr, array, selection, value, optionsFor(anyArray))
    : zarr.set(array, selection, value));
  return changed;
}

/** The options of `setSharded`, whose prefix fills the head parts if there are some. */
function optionsFor({ shards, headSize }: AnyArray): EncodeShardOptions {
  const { prefix, alignment } = shards;
  return headSize > 0 && prefix!.length > 0
    ? { prefix: new Uint8Array(headSize).fill(250), alignment }
    : { alignment, ...headSize === 0 && { prefix } };
}

/** Asserts that the store has these elements, in shards whose inner chunks do not overlap. */
async function assertStored(
  stored: MemoryStore,
  { metadata, layouts }: AnyArray,
  elements: readonly Element[],
): Promise<void> {
  const anew = await zarr.open(withZarrParts(stored), { kind: "array" });
  assertEquals(elementsOf(await zarr.get(anew)), elements);
  const [layout] = layouts;
  if (layout === undefined) return;
  const chunks = new ArrayChunks(stored, "", metadata);
  for await (const coordinates of chunks.list()) {
    const shard = (await chunks.get(coordinates))!;
    const read = (range: Parameters<typeof sliced>[1]) =>
      Promise.resolve(sliced(shard, range));
    const index = (await readShardIndex(read, layout))!;
    assert(index.some((entry) => entry !== undefined));
    assertShardIndex(index, layout, shard.length);
  }
}

Deno.test("setSharded and zarr.set change only the selected elements, in successive writes", async () => {
  const cases = fc.nat(1).chain(writable).chain((array) =>
    fc.tuple(
      fc.constant(array),
      fc.array(writesOf(array), { minLength: 1, maxLength: 4 }),
    )
  );
  await fc.assert(
    fc.asyncProperty(cases, async ([array, writes]) => {
      const stored = new MemoryStore();
      await storeByHand(stored, "", array);
      const opened = await zarr.open(withZarrParts(stored), { kind: "array" });
      const elements = [...array.elements];
      for (const each of writes) {
        const changed = await write(opened, each, array);
        for (const [place, element] of changed) elements[place] = element;
        assertEquals(elementsOf(await zarr.get(opened)), elements);
      }
      await assertStored(stored, array, elements);
    }),
    { numRuns: 200 },
  );
});

Deno.test("setSharded and zarr.set change all selected elements in concurrent writes of different inner chunks", async () => {
  const cases = writable(1).chain((array) => {
    const rows = array.chunkShapes.at(-1)![0] ?? 1;
    const length = array.shape[0] ?? 1;
    const bands = Array.from(
      { length: Math.ceil(length / rows) },
      (_, i) =>
        writesOf(array).map((write): Write => ({
          ...write,
          selection: array.shape.map((_, dimension) =>
            dimension > 0
              ? null
              : zarr.slice(i * rows, Math.min(length, (i + 1) * rows))
          ),
        })),
    );
    return fc.tuple(fc.constant(array), fc.tuple(...bands));
  });
  await fc.assert(
    fc.asyncProperty(cases, async ([array, writes]) => {
      const stored = new MemoryStore();
      await storeByHand(stored, "", array);
      const opened = await zarr.open(withZarrParts(stored), { kind: "array" });
      const elements = [...array.elements];
      const all = await Promise.all(
        writes.map((each) => write(opened, each, array)),
      );
      for (const changed of all) {
        for (const [place, element] of changed) elements[place] = element;
      }
      assertEquals(elementsOf(await zarr.get(opened)), elements);
      await assertStored(stored, array, elements);
    }),
    { numRuns: 100 },
  );
});
