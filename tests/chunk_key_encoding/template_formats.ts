import { assert } from "@std/assert";
import * as fc from "fast-check";
import { TemplateChunkKeyEncoding } from "../../mod.ts";

/** The keys of a format by the draft: the widths of all placeholders are minimal. */
export function encodeSlowly(
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
export const separator = fc.constantFrom(
  "_",
  "/",
  ".",
  "0_",
  "_1",
  "_0_",
  "1_1",
);

/** A format of several placeholders in any order, and the number of dimensions that it is for. */
export const formats = fc.integer({ min: 1, max: 4 }).chain((rank) =>
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
export const chunks = (rank: number) =>
  fc.array(coordinate, { minLength: rank, maxLength: rank });

export function make(
  { format, separator }: { format: string; separator: string },
): TemplateChunkKeyEncoding | undefined {
  try {
    return new TemplateChunkKeyEncoding(format, separator);
  } catch (error) {
    assert(error instanceof RangeError);
  }
}
