import fc from "fast-check";
import * as zarr from "zarrita";
import { withZarrParts } from "../../zarrita.ts";
import { byZarritaAlone } from "./fixtures_codecs.ts";
import { beyondZarrita, type FoundNode } from "./fixtures_found.ts";
import {
  described,
  direct,
  type OpenArray,
  openArray,
} from "./fixtures_open.ts";
import {
  assertSameOutcome,
  type Outcome,
  outcomeOf,
} from "./fixtures_outcome.ts";

/** The expected results of reading an array. */
export interface Reference {
  /** Why it was not zarrita alone who read it. */
  readonly beyond: string | undefined;
  readonly array: OpenArray | undefined;
  readonly description: Outcome;
  /** All elements, or why they cannot be read. */
  readonly whole: Outcome;
}

/** Reads an array as it is, by zarrita alone where that can. */
export async function referenceOf(
  folder: string,
  node: FoundNode,
  open: (store: zarr.AsyncReadable) => Promise<zarr.AsyncReadable> = (store) =>
    Promise.resolve(store),
): Promise<Reference> {
  const beyond = node.kind === "array"
    ? beyondZarrita(node.document)
    : undefined;
  const run = beyond ? <T>(run: () => Promise<T>) => run() : byZarritaAlone;
  const store = beyond ? withZarrParts(direct(folder)) : direct(folder);
  return await run(async () => {
    const readable = await open(store);
    const opened = await outcomeOf(() => openArray(readable, node));
    if ("error" in opened) {
      return { beyond, array: undefined, description: opened, whole: opened };
    }
    const array = opened.value as OpenArray;
    const description = { value: described(array) };
    const whole = await outcomeOf(() => zarr.get(array));
    return { beyond, array, description, whole };
  });
}

/** Asserts that zarrita reads an array as expected; returns the number of comparisons. */
export async function assertReadsAs(
  store: zarr.AsyncReadable,
  node: FoundNode,
  { array: expected, description, whole }: Reference,
  numRuns: number,
): Promise<number> {
  const opened = await outcomeOf(() => openArray(store, node));
  if ("error" in opened || expected === undefined) {
    assertSameOutcome(opened, description, "The array");
    return 1;
  }
  const array = opened.value as OpenArray;
  assertSameOutcome({ value: described(array) }, description, "The metadata");
  const all = await outcomeOf(() => zarr.get(array));
  assertSameOutcome(all, whole, "The whole array");
  const { shape, chunks } = array;
  const gridShape = shape.map((length, i) => Math.ceil(length / chunks[i]!));
  const chunk = gridShape.includes(0)
    ? fc.constant(undefined) // zarrita asks for none.
    : fc.tuple(...gridShape.map((count) => fc.nat(count - 1)));
  let count = 2;
  await fc.assert(
    fc.asyncProperty(selectionOf(shape), chunk, async (selection, chunk) => {
      const [found, right] = [array, expected].map((array) =>
        outcomeOf(() => zarr.get(array, selection))
      );
      assertSameOutcome(await found!, await right!, JSON.stringify(selection));
      count++;
      if (chunk === undefined) return;
      const [foundChunk, rightChunk] = [array, expected].map((array) =>
        outcomeOf(() => array.getChunk(chunk))
      );
      assertSameOutcome(await foundChunk!, await rightChunk!, `Chunk ${chunk}`);
      count++;
    }),
    { numRuns },
  );
  return count;
}

type Selection = (null | number | zarr.Slice)[] | null;

/** Any selection of elements: all, single ones, slices, with steps, past the ends, from the end. */
function selectionOf(shape: readonly number[]): fc.Arbitrary<Selection> {
  return fc.tuple(...shape.map(alongDimension));
}

function alongDimension(
  length: number,
): fc.Arbitrary<null | number | zarr.Slice> {
  const place = fc.option(fc.integer({ min: -length, max: length + 1 }));
  const inside = fc.tuple(fc.nat(length), fc.nat(length)).map((ends) =>
    ends.sort((a, b) => a - b)
  );
  const step = fc.integer({ min: 1, max: length + 1 });
  return fc.oneof(
    { weight: 1, arbitrary: fc.constant(null) },
    { weight: 2, arbitrary: fc.nat(Math.max(0, length - 1)) },
    {
      weight: 4,
      arbitrary: fc.tuple(inside, step).map(([[start, stop], step]) =>
        zarr.slice(start!, stop!, step)
      ),
    },
    {
      weight: 1,
      arbitrary: fc.tuple(place, place, fc.constantFrom(null, 1, 2, -1, -2))
        .map(([start, stop, step]) => zarr.slice(start, stop, step)),
    },
  );
}
