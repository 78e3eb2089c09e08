import {
  assert,
  assertEquals,
  assertStrictEquals,
  assertThrows,
} from "@std/assert";
import * as fc from "fast-check";
import {
  ChunkKeyError,
  MetadataError,
  parseChunkKeyEncoding,
  TemplateChunkKeyEncoding,
} from "../../mod.ts";
import { assertPartKeys } from "../../src/concat_parts/part_keys.ts";

/** The keys of a format by the draft: the widths of all placeholders are minimal. */
function encodeSlowly(
  format: string,
  separator: string,
  chunk: readonly number[],
): string {
  const named = [...format.matchAll(/\{(-?\d+)/g)].map(([, index]) =>
    Number(index) < 0 ? chunk.length + Number(index) : Number(index)
  );
  const others = chunk.filter((_, dimension) => !named.includes(dimension));
  return format.replaceAll(
    /\{(\*|-?\d+)(?::0(\d+))?\}/g,
    (_, index, width = 0) =>
      (index === "*" ? others : [chunk.at(Number(index))!])
        .map((coordinate) => String(coordinate).padStart(Number(width), "0"))
        .join(separator),
  );
}

const text = fc.constantFrom("", "", "", "_", ".", "/", "a", "0", "1", "5_");
const width = fc.constantFrom("", "", ":01", ":02", ":03");
const separator = fc.constantFrom("_", "/", ".", "0_", "_1", "_0_", "1_1");

/** A format of several placeholders in any order, and the number of dimensions that it is for. */
const formats = fc.integer({ min: 1, max: 4 }).chain((rank) =>
  fc.record({
    rank: fc.constant(rank),
    separator,
    dimensions: fc.shuffledSubarray([...new Array(rank).keys()], {
      minLength: rank,
    }),
    rest: fc.nat(2 * rank),
    negative: fc.array(fc.boolean(), { minLength: rank, maxLength: rank }),
    texts: fc.array(text, { minLength: rank + 1, maxLength: rank + 1 }),
    widths: fc.array(width, { minLength: rank, maxLength: rank }),
  })
).map(({ rank, separator, dimensions, rest, negative, texts, widths }) => {
  // From the place `rest` on, all placeholders become one for the others.
  const places = dimensions.slice(0, rest).map((dimension, i) =>
    negative[i] ? dimension - rank : dimension
  );
  const indexes = [...places, ...rest < rank ? ["*"] : []];
  const format = indexes.reduce<string>(
    (format, index, i) => `${format}{${index}${widths[i]}}${texts[i + 1]}`,
    texts[0]!,
  );
  return { format, separator, rank };
});

const coordinate = fc.oneof(
  fc.nat(12),
  fc.nat(1200),
  fc.maxSafeNat(),
  fc.constantFrom(Number.MAX_SAFE_INTEGER, 9, 10, 99, 100, 999, 1000),
);
const chunks = (rank: number) =>
  fc.array(coordinate, { minLength: rank, maxLength: rank });

function make(
  { format, separator }: { format: string; separator: string },
): TemplateChunkKeyEncoding | undefined {
  try {
    return new TemplateChunkKeyEncoding(format, separator);
  } catch (error) {
    assert(error instanceof RangeError);
  }
}

Deno.test("TemplateChunkKeyEncoding.encode agrees with replaced placeholders, and decode is its inverse", () => {
  let [encoded, refused] = [0, 0];
  fc.assert(
    fc.property(
      formats.chain((form) => fc.tuple(fc.constant(form), chunks(form.rank))),
      ([form, chunk]) => {
        const encoding = make(form);
        if (encoding === undefined) return;
        let key: string;
        try {
          key = encoding.encode(chunk);
        } catch (error) {
          assert(error instanceof RangeError);
          assert(error.message.includes("stands beside another"));
          refused++;
          return;
        }
        encoded++;
        const { format, separator } = form;
        assertStrictEquals(key, encodeSlowly(format, separator, chunk));
        assertEquals(encoding.decode(key), chunk);
        assertEquals(encoding.decode(key, chunk.length), chunk);
        const parsed = parseChunkKeyEncoding(
          JSON.parse(JSON.stringify(encoding)),
        );
        assertEquals(parsed, encoding);
        assertStrictEquals(parsed.encode(chunk), key);
      },
    ),
    { numRuns: 5000, seed: 1 },
  );
  assert(encoded > 1000 && refused > 100, `${encoded} and ${refused}`);
});

Deno.test("TemplateChunkKeyEncoding.decode accepts a key only if encode returns it", () => {
  const change = fc.record({
    at: fc.nat(20),
    remove: fc.nat(3),
    insert: fc.constantFrom("", "00", "12", "_0", ..."0123456789/.-_a٣"),
  });
  let [accepted, rejected] = [0, 0];
  fc.assert(
    fc.property(
      formats.chain((form) => fc.tuple(fc.constant(form), chunks(form.rank))),
      change,
      ([form, chunk], { at, remove, insert }) => {
        const encoding = make(form);
        if (encoding === undefined) return;
        const { format, separator, rank } = form;
        const key = encodeSlowly(format, separator, chunk);
        const start = at % (key.length + 1);
        const changed = key.slice(0, start) + insert +
          key.slice(start + remove);
        for (const expected of [undefined, rank]) {
          try {
            const found = encoding.decode(changed, expected);
            assertStrictEquals(encoding.encode(found), changed);
            assertStrictEquals(
              encodeSlowly(format, separator, found),
              changed,
            );
            accepted++;
          } catch (error) {
            assert(error instanceof ChunkKeyError, `${error}`);
            assertStrictEquals(error.key, changed);
            rejected++;
          }
        }
      },
    ),
    { numRuns: 5000, seed: 1 },
  );
  assert(accepted > 500 && rejected > 500, `${accepted} and ${rejected}`);
});

/** All chunks of a small grid, with some larger coordinates. */
function* grid(rank: number, values: readonly number[]): Generator<number[]> {
  if (rank === 0) return yield [];
  for (const rest of grid(rank - 1, values)) {
    for (const value of values) yield [...rest, value];
  }
}

const VALUES = [0, 1, 2, 5, 10, 11, 12, 15, 50, 100, 101, 110, 111, 150];

Deno.test("TemplateChunkKeyEncoding refuses formats of two dimensions exactly if two chunks share a key", () => {
  let [allowed, refused] = [0, 0];
  const unpadded = formats.filter(({ format, rank }) =>
    rank === 2 && !format.includes(":") && !format.includes("*") &&
    /^[^/].*[^/]$/.test(format)
  );
  fc.assert(
    fc.property(unpadded, ({ format, separator, rank }) => {
      const keys = new Set<string>();
      let count = 0;
      const all = Array.from({ length: 110 }, (_, i) => i);
      for (const chunk of grid(rank, all)) {
        keys.add(encodeSlowly(format, separator, chunk));
        count++;
      }
      const encoding = make({ format, separator });
      assertEquals(encoding !== undefined, keys.size === count, format);
      if (encoding) allowed++;
      else refused++;
    }),
    { numRuns: 60, seed: 1 },
  );
  assert(allowed > 10 && refused > 10, `${allowed} and ${refused}`);
});

Deno.test("assertPartKeys agrees with comparing all part keys of a template's chunks", () => {
  const suffix = fc.string({
    unit: fc.constantFrom("0", "1", "5", "_", "/"),
    maxLength: 2,
  }).filter((text) => !text.includes("//") && !text.endsWith("/"));
  let [allowed, refused] = [0, 0];
  fc.assert(
    fc.property(
      formats.filter(({ rank }) => rank < 4),
      fc.uniqueArray(suffix, { minLength: 2, maxLength: 3 }),
      ({ format, separator, rank }, suffixes) => {
        const encoding = make({ format, separator });
        if (encoding === undefined) return;
        const seen = new Set<string>();
        let isShared = false;
        for (const chunk of grid(rank, VALUES)) {
          let key: string;
          try {
            key = encoding.encode(chunk);
          } catch {
            continue;
          }
          for (const suffix of suffixes) {
            isShared ||= seen.has(key + suffix);
            seen.add(key + suffix);
          }
        }
        const parts = suffixes.map((keySuffix) => ({ keySuffix }));
        const check = () => assertPartKeys([parts], encoding, rank);
        try {
          check();
          assertEquals(isShared, false, `${format} ${suffixes}`);
          allowed++;
        } catch (error) {
          if (!(error instanceof MetadataError)) throw error;
          const isUnusable = error.message.includes("segment");
          if (!isShared && !isUnusable) {
            // The chunks are not all chunks: the reported key must be one of two.
            const shared = JSON.parse(/"[^"]*"/.exec(error.message)![0]);
            const owners = suffixes.filter((suffix) => {
              if (!shared.endsWith(suffix)) return false;
              try {
                encoding.decode(
                  shared.slice(0, shared.length - suffix.length),
                  rank,
                );
                return true;
              } catch {
                return false;
              }
            });
            assertEquals(owners.length, 2, `${format} ${suffixes}`);
          }
          refused++;
        }
      },
    ),
    { numRuns: 1500, seed: 1 },
  );
  assert(allowed > 200 && refused > 100, `${allowed} and ${refused}`);
});

Deno.test("parseChunkKeyEncoding returns a template or throws a MetadataError for any format", () => {
  const format = fc.array(
    fc.oneof(
      fc.constantFrom("{0}", "{*}", "{-1:04}", "{{", "}}", "{", "}", ":", "0"),
      fc.string({ unit: "binary", maxLength: 3 }),
    ),
    { maxLength: 6 },
  ).map((pieces) => pieces.join(""));
  let accepted = 0;
  fc.assert(
    fc.property(format, fc.option(separator), (format, separator) => {
      const configuration = { format, ...separator && { separator } };
      try {
        const encoding = parseChunkKeyEncoding({
          name: "template",
          configuration,
        });
        assertEquals(encoding.toJSON().configuration, configuration);
        accepted++;
      } catch (error) {
        if (!(error instanceof MetadataError)) throw error;
      }
    }),
    { numRuns: 2000, seed: 1 },
  );
  assert(accepted > 100, `accepted ${accepted}`);
  assertThrows(() => parseChunkKeyEncoding("template"), MetadataError);
});
