import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import fc from "fast-check";
import { type Cut, PartCutter } from "../../src/splitter/part_cutter.ts";
import {
  cutSlowly,
  inPieces,
  joined,
  lengths,
  type Sizes,
  sizes,
  sum,
} from "./stream_support.ts";
import { noise } from "../checksum/noise.ts";

const withheld = fc.oneof(fc.constantFrom(0, 4), fc.nat(12));

/** Collects cuts, and checks what is true of each. */
class Collection {
  readonly parts: Uint8Array[][];
  given = 0;
  #last = 0;

  constructor(count: number) {
    this.parts = Array.from({ length: count }, () => []);
  }

  /** @param piece What the cuts may be views of. */
  add(cuts: Iterable<Cut>, piece?: Uint8Array): void {
    for (const { part, bytes, isHeld } of cuts) {
      assert(bytes.length > 0, "A cut is empty");
      assert(part >= this.#last, "A cut is of an earlier part");
      this.#last = part;
      assertEquals(bytes.buffer === piece?.buffer, !isHeld);
      this.parts[part]!.push(bytes.slice());
      this.given += bytes.length;
    }
  }
}

/** Cuts a chunk in pieces, and tells how many bytes were given after each. */
function cut(
  chunk: Uint8Array<ArrayBuffer>,
  lengths: number[],
  sizes: Sizes,
  options: { total?: number | undefined; withheld?: number },
): { parts: Uint8Array[]; given: number[]; received: number[] } {
  const cutter = new PartCutter(sizes, options);
  const collection = new Collection(sizes.length);
  const given: number[] = [];
  const received: number[] = [];
  for (const piece of inPieces(chunk, lengths)) {
    collection.add(cutter.cut(piece), piece);
    given.push(collection.given);
    received.push((received.at(-1) ?? 0) + piece.length);
    piece.fill(0xee); // What is held back must not be a view of it.
  }
  collection.add(cutter.finish());
  return { parts: collection.parts.map(joined), given, received };
}

Deno.test("PartCutter cuts any pieces as slices of the whole are", () => {
  fc.assert(
    fc.property(
      sizes,
      fc.nat(30),
      lengths,
      fc.boolean(),
      withheld,
      (sizes, rest, lengths, isKnown, withheld) => {
        const length = sum(sizes) + (sizes.includes(undefined) ? rest : 0);
        const total = isKnown ? length : undefined;
        const chunk = noise(length);
        const { parts } = cut(chunk, lengths, sizes, { total, withheld });
        assertEquals(parts, cutSlowly(chunk, sizes));
      },
    ),
    { numRuns: 2000 },
  );
});

Deno.test("PartCutter without a total holds back just the sizes after the unsized part, or what it withholds if that is more", () => {
  fc.assert(
    fc.property(
      sizes.filter((sizes) => sizes.includes(undefined)),
      fc.nat(30),
      lengths,
      withheld,
      (sizes, rest, lengths, withheld) => {
        const chunk = noise(sum(sizes) + rest);
        const { given, received } = cut(chunk, lengths, sizes, { withheld });
        const tail = sum(sizes.slice(sizes.indexOf(undefined)));
        const held = Math.max(tail, withheld);
        assertEquals(given, received.map((count) => Math.max(0, count - held)));
      },
    ),
    { numRuns: 1000 },
  );
});

Deno.test("PartCutter with a total holds back what it withholds, and nothing else", () => {
  fc.assert(
    fc.property(
      sizes,
      fc.nat(30),
      lengths,
      withheld,
      (sizes, rest, lengths, withheld) => {
        const isOpen = sizes.includes(undefined);
        const length = sum(sizes) + (isOpen ? rest : 0);
        const total = isOpen ? length : undefined;
        const options = { total, withheld };
        const { given, received } = cut(noise(length), lengths, sizes, options);
        const most = Math.max(0, length - withheld);
        assertEquals(given, received.map((count) => Math.min(count, most)));
      },
    ),
    { numRuns: 1000 },
  );
});

Deno.test("PartCutter gives what passes without a copy", () => {
  const cutter = new PartCutter([2, undefined, 1]);
  const piece = Uint8Array.of(1, 2, 3, 4);
  const cuts = [...cutter.cut(piece)];
  assertEquals(cuts.map(({ part, bytes }) => [part, ...bytes]), [
    [0, 1, 2],
    [1, 3],
  ]);
  for (const { bytes } of cuts) assertStrictEquals(bytes.buffer, piece.buffer);
});

Deno.test("PartCutter cuts a part of 2^53−1 bytes of which few come, wherever it is", () => {
  const huge = 2 ** 53 - 1;
  for (const sizes of [[huge], [huge, 1], [1, huge], [huge, undefined, huge]]) {
    const cutter = new PartCutter(sizes, { withheld: 4 });
    const cuts = [...cutter.cut(noise(100)), ...cutter.cut(noise(100))];
    const isTail = sizes.length === 3;
    assertEquals(
      sum(cuts.map(({ bytes }) => bytes.length)),
      isTail ? 0 : 200,
      String(sizes),
    );
  }
});
