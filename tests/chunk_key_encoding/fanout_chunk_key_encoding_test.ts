import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertStrictEquals,
  assertThrows,
} from "@std/assert";
import * as fc from "fast-check";
import {
  ChunkKeyError,
  FanoutChunkKeyEncoding,
  MetadataError,
  parseChunkKeyEncoding,
  SuffixChunkKeyEncoding,
} from "../../mod.ts";

const MAX = Number.MAX_SAFE_INTEGER;
const thousand = new FanoutChunkKeyEncoding();

Deno.test("FanoutChunkKeyEncoding encodes and decodes the examples of the draft", () => {
  for (
    const [chunk, key] of [
      [[], "c"],
      [[0], "c/0/000"],
      [[12], "c/0/012"],
      [[1234567], "c/2/001/234/567"],
      [[1234, 5, 0, 6789012], "c/1/001/234/0/005/0/000/2/006/789/012"],
    ] as const
  ) {
    assertStrictEquals(thousand.encode(chunk), key);
    assertEquals(thousand.decode(key), [...chunk]);
    assertEquals(thousand.decode(key, chunk.length), [...chunk]);
  }
});

Deno.test("FanoutChunkKeyEncoding encodes and decodes coordinates around powers of the number of entries", () => {
  for (
    const [maxChildren, coordinate, key] of [
      [100, 99, "c/0/99"],
      [100, 100, "c/1/01/00"],
      [100, 9999, "c/1/99/99"],
      [100, 10000, "c/2/01/00/00"],
      [1000, 999, "c/0/999"],
      [1000, 1000, "c/1/001/000"],
      [100, MAX, "c/7/90/07/19/92/54/74/09/91"],
      [1000, MAX, "c/5/009/007/199/254/740/991"],
      [10 ** 15, MAX, "c/1/000000000000009/007199254740991"],
      [MAX, 0, "c/0/000000000000000"],
    ] as const
  ) {
    const encoding = new FanoutChunkKeyEncoding(maxChildren);
    assertStrictEquals(encoding.encode([coordinate]), key);
    assertEquals(encoding.decode(key), [coordinate]);
  }
});

Deno.test("FanoutChunkKeyEncoding.decode rejects keys that encode does not return", () => {
  for (
    const key of [
      "",
      "C",
      "c/",
      "c/0",
      "c/000",
      "c/0/00",
      "c/0/0000",
      "c/00/000",
    ]
      .concat([
        "c/0/000/",
        "/c/0/000",
        "c/0/-01",
        "c/0/1e1",
        "c/0/ 12",
        "c/0/٣٣٣",
      ])
      .concat(["c/1/000/005", "c/1/005", "c/0/001/002", "c/-2", "c/-1/000"])
      .concat(["c/1/001/000/0", "c/5/009/007/199/254/740/992", "c/1", "c/0/12"])
      .concat([`c/${"9".repeat(400)}`, "c/6/000/009/007/199/254/740/991"])
      .concat(["c/1/000", "c/1/1234", "c.0.000", "c/0/000\n", "zarr.json"])
  ) {
    const error = assertThrows(() => thousand.decode(key), ChunkKeyError);
    assertStrictEquals(error.key, key);
    assertThrows(() => thousand.decode(key, 1), ChunkKeyError);
  }
  assertThrows(() => thousand.decode("c", 1), ChunkKeyError, "has rank 0");
  assertThrows(() => thousand.decode("c/0/000", 2), ChunkKeyError, "rank 2");
  assertThrows(() => thousand.decode("c", -1), RangeError, "the rank");
  assertThrows(() => thousand.decode(5 as never), TypeError, "found 5");
});

Deno.test("FanoutChunkKeyEncoding.encode rejects invalid coordinates", () => {
  for (const wrong of [-1, 0.5, NaN, Infinity, MAX + 1]) {
    assertThrows(() => thousand.encode([0, wrong]), RangeError, "dimension 1");
  }
  assertThrows(() => thousand.encode(["1"] as never), TypeError, "dimension 0");
  assertThrows(() => thousand.encode("1" as never), TypeError, "a list");
});

Deno.test("FanoutChunkKeyEncoding lowers the number of entries to a power of ten", () => {
  for (
    const [given, used] of [
      [100, 100],
      [250, 100],
      [999, 100],
      [1000, 1000],
      [1234, 1000],
      [10000, 10000],
      [MAX, 10 ** 15],
    ] as const
  ) {
    const encoding = parseChunkKeyEncoding({
      name: "fanout",
      configuration: { max_children: given },
    });
    assertEquals(encoding, new FanoutChunkKeyEncoding(given));
    assertEquals(encoding.toJSON(), {
      name: "fanout",
      configuration: { max_children: used },
    });
    assertEquals(parseChunkKeyEncoding(encoding.toJSON()), encoding);
  }
  for (const metadata of ["fanout", { name: "fanout", configuration: {} }]) {
    assertEquals(parseChunkKeyEncoding(metadata), thousand);
  }
});

Deno.test("parseChunkKeyEncoding refuses a fanout of fewer than 100 entries, and unknown members", () => {
  for (const max_children of [99, 0, -1000, 100.5, MAX + 1, "1000", null, []]) {
    const error = assertThrows(
      () =>
        parseChunkKeyEncoding({
          name: "fanout",
          configuration: { max_children },
        }),
      MetadataError,
      "to be a whole number from 100 to 9007199254740991, found ",
    );
    assertStrictEquals(error.path, "/configuration/max_children");
  }
  assertThrows(() => new FanoutChunkKeyEncoding(99), RangeError, "found 99");
  assertThrows(
    () => new FanoutChunkKeyEncoding("1000" as never),
    TypeError,
    'found "1000"',
  );
  assertThrows(
    () => parseChunkKeyEncoding({ name: "fanout", configuration: { base: 1 } }),
    MetadataError,
    'Unknown member "base"',
  );
});

Deno.test("FanoutChunkKeyEncoding is the base encoding of a suffix", () => {
  const tiff = new SuffixChunkKeyEncoding(".tiff", thousand);
  assertStrictEquals(tiff.encode([1234]), "c/1/001/234.tiff");
  assertEquals(tiff.decode("c/1/001/234.tiff"), [1234]);
  assertStrictEquals(tiff.encode([]), "c.tiff");
  assertEquals(parseChunkKeyEncoding(tiff.toJSON()), tiff);
});

const coordinates = fc.array(
  fc.oneof(
    fc.nat(1200),
    fc.maxSafeNat(),
    fc.constantFrom(99, 100, 999, 1000, 999_999, 1_000_000, MAX),
  ),
  { maxLength: 4 },
);
const maxChildren = fc.oneof(
  fc.integer({ min: 100, max: 20_000 }),
  fc.integer({ min: 100, max: MAX }),
);

/** The key by the steps of the draft, with the power of ten below `maxChildren`. */
function encodeSlowly(chunk: readonly number[], maxChildren: number): string {
  const power = BigInt(`1${"0".repeat(`${maxChildren}`.length - 1)}`);
  const nodes = chunk.flatMap((coordinate) => {
    const digits: bigint[] = [];
    let rest = BigInt(coordinate);
    do {
      digits.unshift(rest % power);
      rest /= power;
    } while (rest > 0n);
    const length = `${power - 1n}`.length;
    return [
      `${digits.length - 1}`,
      ...digits.map((digit) => `${digit}`.padStart(length, "0")),
    ];
  });
  return ["c", ...nodes].join("/");
}

Deno.test("FanoutChunkKeyEncoding.encode agrees with the steps of the draft, and decode is its inverse", () => {
  fc.assert(fc.property(coordinates, maxChildren, (chunk, maxChildren) => {
    const encoding = new FanoutChunkKeyEncoding(maxChildren);
    const key = encoding.encode(chunk);
    assertStrictEquals(key, encodeSlowly(chunk, maxChildren));
    assertEquals(encoding.decode(key), chunk);
    assertEquals(encoding.decode(key, chunk.length), chunk);
    assertEquals(parseChunkKeyEncoding(encoding.toJSON()), encoding);
  }));
});

Deno.test("FanoutChunkKeyEncoding.decode accepts a key only if encode returns it", () => {
  const change = fc.record({
    at: fc.nat(30),
    remove: fc.nat(4),
    insert: fc.constantFrom("", "/", "/0/000", "00", ..."0123456789.-c٣"),
  });
  let [accepted, rejected] = [0, 0];
  fc.assert(
    fc.property(coordinates, change, (chunk, { at, remove, insert }) => {
      const key = encodeSlowly(chunk, 1000);
      const start = at % (key.length + 1);
      const changed = key.slice(0, start) + insert + key.slice(start + remove);
      try {
        const found = thousand.decode(changed);
        assertStrictEquals(encodeSlowly(found, 1000), changed);
        accepted++;
      } catch (error) {
        assertInstanceOf(error, ChunkKeyError);
        assertStrictEquals(error.key, changed);
        rejected++;
      }
    }),
    { numRuns: 2000, seed: 1 },
  );
  assert(accepted > 100 && rejected > 200, `${accepted} and ${rejected}`);
});
