import { assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  ConcatParts,
  MemoryStore,
  type Part,
  type Store,
  type StoreKey,
} from "../../mod.ts";
import { countingBytes } from "../support/bytes.ts";
import { type Method, observed } from "../support/observed_store.ts";
import { runs } from "../support/runs.ts";

// Sizes around the size up to which a part is read whole, and small ones.
const size = fc.oneof(
  { weight: 9, arbitrary: fc.integer({ min: 0, max: 9 }) },
  { weight: 1, arbitrary: fc.constantFrom(262_143, 262_144, 262_145) },
);

/** Parts that can be written: at most one is unsized. */
const parts: fc.Arbitrary<Part[]> = fc.tuple(
  fc.array(size, { maxLength: 4 }),
  fc.option(fc.nat(4)),
).filter(([sizes, unsized]) => sizes.length > 0 || unsized !== null)
  .map(([sizes, unsized]) => {
    const parts: Part[] = sizes.map((size, i) => ({
      keySuffix: `.${i}`,
      size,
    }));
    if (unsized !== null) parts.splice(unsized, 0, { keySuffix: "" });
    return parts;
  });

/** One chunk's length beyond its sized parts, where one is unsized. */
const rest = fc.oneof(fc.integer({ min: 0, max: 9 }), fc.constant(66_000));

function lengthOf(parts: Part[], rest: number): number {
  return parts.reduce((sum, part) => sum + (part.size ?? rest), 0);
}

/** A stream of `bytes` in pieces of the given lengths, some of them empty. */
function inPieces(
  bytes: Uint8Array,
  lengths: number[],
): ReadableStream<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let offset = 0;
  for (const length of lengths) {
    pieces.push(bytes.slice(offset, offset += length));
  }
  pieces.push(bytes.slice(offset));
  return ReadableStream.from(pieces);
}

async function read(stream: ReadableStream<Uint8Array> | undefined) {
  return stream &&
    new Uint8Array(
      await new Response(stream as ReadableStream<Uint8Array<ArrayBuffer>>)
        .arrayBuffer(),
    );
}

/** The same store, with fewer of its capabilities. */
const CAPABILITIES: Method[][] = [
  ["get", "getRange", "stream", "size", "set", "delete", "list", "group"],
  ["get", "getRange", "stream", "size", "set", "delete", "list"],
  ["get", "getRange", "set", "delete", "list"],
  ["get", "size", "set", "delete", "list"],
  ["get", "set", "delete", "list"],
];

type WholeStore = Required<
  Pick<
    Store,
    "get" | "getRange" | "size" | "stream" | "set" | "delete" | "list"
  >
>;

/** Places in chunks, also around those of a part that is too large to be read whole. */
const place = fc.oneof(
  fc.nat(60),
  fc.integer({ min: 262_140, max: 262_160 }),
  fc.constant(2 ** 53 - 1),
);

/** An operation on a store, and its result. */
type Operation = (store: WholeStore, parts: Part[]) => Promise<unknown>;

const operation: fc.Arbitrary<Operation> = fc.oneof(
  ...keyed((key) => [
    fc.constant((store: WholeStore) => store.get(key)),
    fc.constant((store: WholeStore) => store.size(key)),
    fc.constant(async (store: WholeStore) => read(await store.stream(key))),
    fc.constant((store: WholeStore) => store.delete(key).then(() => {})),
    fc.record({ offset: place, length: place }).map(
      (range) => (store: WholeStore) => store.getRange(key, range),
    ),
    place.map((suffixLength) => (store: WholeStore) =>
      store.getRange(key, { suffixLength })
    ),
    fc.tuple(rest, fc.nat(250)).map(
      ([rest, first]) => (store: WholeStore, parts: Part[]) =>
        store.set(key, countingBytes(lengthOf(parts, rest), first)),
    ),
    fc.tuple(rest, fc.array(fc.nat(7))).map(
      ([rest, lengths]) => (store: WholeStore, parts: Part[]) =>
        store.set(key, inPieces(countingBytes(lengthOf(parts, rest)), lengths)),
    ),
    fc.constant(async (store: WholeStore) =>
      (await Array.fromAsync(store.list())).sort()
    ),
    fc.constant(async (store: WholeStore) =>
      (await Array.fromAsync(store.list(key))).sort()
    ),
  ]),
);

function keyed(
  arbitraries: (key: StoreKey) => fc.Arbitrary<Operation>[],
): fc.Arbitrary<Operation>[] {
  return ["/c/0/0", "/c/0/1", "/c/1"].flatMap((key) =>
    arbitraries(key as StoreKey)
  );
}

Deno.test("ConcatParts.apply: a composed store gives the same results as a plain store for any sequence of operations", async () => {
  await fc.assert(
    fc.asyncProperty(
      parts,
      fc.boolean(),
      fc.array(operation, { maxLength: 20 }),
      fc.constantFrom(...CAPABILITIES),
      async (parts, stacked, operations, capabilities) => {
        const plain = new MemoryStore();
        let store: Store = observed(new MemoryStore(), () => {}, capabilities);
        // A second transformer, nearer to the store, cuts every part in two.
        if (stacked) {
          store = new ConcatParts([{ keySuffix: "-a", size: 0 }, {
            keySuffix: "-b",
          }]).apply(store);
        }
        const composed = new ConcatParts(parts).apply(store) as WholeStore;
        for (const run of operations) {
          assertEquals(await run(composed, parts), await run(plain, parts));
        }
      },
    ),
    { numRuns: runs(300) },
  );
});
