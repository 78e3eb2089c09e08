/** Random arrays and random operations beside the elements in a plain list. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import * as zarr from "zarrita";
import {
  assertShardIndex,
  type EncodeShardOptions,
  MemoryStore,
  openArrayChunks,
  readShardIndex,
  type Store,
} from "../../mod.ts";
import { startHere } from "../../src/threads/worker.ts";
import { LEAST_BYTES } from "../../src/zarrita/get_sharded.ts";
import { LEAST_WRITTEN } from "../../src/zarrita/set_sharded.ts";
import {
  getSharded,
  registerCodecs,
  setSharded,
  ThreadPool,
  withZarrParts,
} from "../../zarrita.ts";
import { sliced } from "../stores/sliced.ts";
import { runs } from "../support/runs.ts";
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
LEAST_BYTES.toUse = 0;
LEAST_WRITTEN.toUse = 0;

// deno-lint-ignore no-explicit-any -- arrays of zarrita have the type of their elements
type Opened = any;

/** An operation on an array, by one of two wrappers of its store. */
interface Operation {
  way: "get" | "getSharded" | "set" | "setSharded";
  wrapper: 0 | 1;
  selection: Selection;
  isScalar: boolean;
  /** Whether jobs of `getSharded` and `setSharded` run as in threads. */
  isThreaded: boolean;
  /** Whether elements lie in shared memory. */
  isShared: boolean;
  seed: number;
}

const operationsOf = ({ shape, layouts }: AnyArray): fc.Arbitrary<Operation> =>
  fc.record({
    way: fc.constantFrom<Operation["way"][]>(
      "get",
      "getSharded",
      // Shards in shards are only read.
      ...layouts.length > 1 ? [] : ["set", "setSharded"] as const,
    ),
    wrapper: fc.constantFrom(0, 1),
    selection: selectionsOf(shape),
    isScalar: fc.boolean(),
    isThreaded: fc.boolean(),
    isShared: fc.boolean(),
    seed: fc.nat(),
  });

/** Arrays whose shards have no other bytes than zeros, so that inner chunks may move. */
const arrays = (levels: number): fc.Arbitrary<AnyArray> =>
  arraysOf(levels).map((array) => {
    const { prefix, alignment } = array.shards;
    const zeros = new Uint8Array(prefix!.length);
    return { ...array, shards: { prefix: zeros, alignment } };
  });

/** The value of a write, and the elements at the places that it changes. */
function valueOf(
  { selection, isScalar, isShared, seed }: Operation,
  { shape, type }: AnyArray,
): { value: unknown; changed: Map<number, Element> } {
  const places = placesOf(selection, shape);
  const selected = shapeOf(selection, shape);
  const all = isScalar || selected.length === 0;
  const elements = anyElements(type, all ? 1 : places.length, seed);
  const changed = new Map(
    places.map((place, i) => [place, elements[all ? 0 : i]!]),
  );
  if (all) return { value: elements[0], changed };
  const value = chunkOf(elements, type, selected);
  if (!isShared || type === "bool") return { value, changed };
  const data = value.data as Uint8Array;
  const Data = data.constructor as Uint8ArrayConstructor;
  const shared = new Data(new SharedArrayBuffer(data.byteLength));
  shared.set(data);
  return { value: { ...value, data: shared }, changed };
}

/** The options of `setSharded`, whose prefix fills the head parts if there are some. */
function shardOptions(
  { shards, headSize, layouts }: AnyArray,
): EncodeShardOptions {
  if (layouts.length === 0) return {};
  const { prefix, alignment } = shards;
  return headSize > 0 && prefix!.length > 0
    ? { prefix: new Uint8Array(headSize).fill(250), alignment }
    : { alignment, ...headSize === 0 && { prefix } };
}

/** Does an operation, and checks what it reads, or returns the elements that it changes. */
async function act(
  operation: Operation,
  opened: Opened,
  array: AnyArray,
  elements: readonly Element[],
  pool: ThreadPool,
): Promise<Map<number, Element>> {
  const { way, selection, isThreaded, isShared } = operation;
  const threads = isThreaded ? pool : 0;
  if (way === "set" || way === "setSharded") {
    const { value, changed } = valueOf(operation, array);
    await (way === "set"
      ? zarr.set(opened, selection, value as never)
      : setSharded(zarr, opened, selection, value as never, {
        ...shardOptions(array),
        threads,
      }));
    return changed;
  }
  const found = way === "get"
    ? await zarr.get(opened, selection)
    : await getSharded(zarr, opened, selection, { threads, shared: isShared });
  const expected = placesOf(selection, array.shape).map((i) => elements[i]!);
  assertEquals(elementsOf(found), expected);
  if (typeof found === "object") {
    assertEquals(found!.shape, shapeOf(selection, array.shape));
  }
  return new Map();
}

/** Runs a test with an array that is stored by hand, and two wrappers of its store. */
async function withArray(
  array: AnyArray,
  path: string,
  isMap: boolean,
  test: (
    opened: Opened[],
    elements: Element[],
    pool: ThreadPool,
  ) => Promise<void>,
): Promise<void> {
  const store = isMap ? new Map() as unknown as Store : new MemoryStore();
  await storeByHand(store, path, array);
  const open = () =>
    zarr.open(zarr.root(withZarrParts(store)).resolve(path), { kind: "array" });
  const elements = [...array.elements];
  using pool = new ThreadPool({ threads: 2, createWorker: startHere });
  await test([await open(), await open()], elements, pool);
  assertEquals(elementsOf(await zarr.get(await open())), elements);
  const [layout] = array.layouts;
  if (layout === undefined || isMap) return; // A `Map` does not list.
  const chunks = await openArrayChunks(store, path);
  for await (const coordinates of chunks.list()) {
    // Inner chunks do not overlap, and no shard is empty.
    const shard = (await chunks.get(coordinates))!;
    const read = (range: Parameters<typeof sliced>[1]) =>
      Promise.resolve(sliced(shard, range));
    const index = (await readShardIndex(read, layout))!;
    assert(index.some((entry) => entry !== undefined));
    assertShardIndex(index, layout, shard.length);
  }
}

const place = fc.record({
  path: fc.constantFrom("", "a", "c/0", "é b/c"),
  isMap: fc.boolean(),
});

Deno.test("zarr.get, getSharded, zarr.set and setSharded read and change only the selected elements, one after another", async () => {
  const cases = fc.nat(3).chain(arrays).chain((array) =>
    fc.tuple(
      fc.constant(array),
      fc.array(operationsOf(array), { minLength: 1, maxLength: 6 }),
      place,
    )
  );
  await fc.assert(
    fc.asyncProperty(cases, async ([array, operations, { path, isMap }]) => {
      await withArray(array, path, isMap, async (opened, elements, pool) => {
        for (const operation of operations) {
          const one = opened[operation.wrapper];
          const changed = await act(operation, one, array, elements, pool);
          for (const [i, element] of changed) elements[i] = element;
        }
      });
    }),
    { numRuns: runs(800) },
  );
});

Deno.test("zarr.set and setSharded lose no element of different inner chunks, at the same time", async () => {
  const cases = arrays(1).chain((array) => {
    const rows = array.chunkShapes.at(-1)![0] ?? 1;
    const length = array.shape[0] ?? 1;
    const bands = Array.from(
      { length: Math.ceil(length / rows) },
      (_, i) =>
        fc.tuple(operationsOf(array), fc.constantFrom("set", "setSharded"))
          .map(([operation, way]): Operation => ({
            ...operation,
            way: way as "set",
            selection: array.shape.map((_, dimension) =>
              dimension > 0
                ? null
                : zarr.slice(i * rows, Math.min(length, (i + 1) * rows))
            ),
          })),
    );
    return fc.tuple(fc.constant(array), fc.tuple(...bands), place);
  });
  await fc.assert(
    fc.asyncProperty(cases, async ([array, operations, { path, isMap }]) => {
      await withArray(array, path, isMap, async (opened, elements, pool) => {
        const all = await Promise.all(
          operations.map((each) =>
            act(each, opened[each.wrapper], array, elements, pool)
          ),
        );
        for (const changed of all) {
          for (const [i, element] of changed) elements[i] = element;
        }
      });
    }),
    { numRuns: runs(300) },
  );
});
