import { assert } from "@std/assert";
import * as fc from "fast-check";
import { TemplateChunkKeyEncoding } from "../../mod.ts";

/** The key of a chunk by exact arithmetic; `undefined` if a format has no key for the chunk. */
export function encodeSlowly(
  format: string,
  separator: string,
  chunk: readonly number[],
): string | undefined {
  const named = [...format.matchAll(/\{(-?\d+)/g)].map(([, index]) =>
    Number(index) < 0 ? chunk.length + Number(index) : Number(index)
  );
  const others = [...chunk.keys()].filter((each) => !named.includes(each));
  const rest = /\{\*([^}]*)\}/;
  let hasKey = rest.test(format) || others.every((each) => chunk[each] === 0);
  const key = format
    .replace(
      rest,
      (_, how) => others.map((each) => `{${each}${how}}`).join(separator),
    )
    .replaceAll(
      /(?<=(\}?))\{(-?\d+)(?:\*(-?\d+))?(?:\+(\d+))?(?::0(\d+))?\}(?=(\{?))/g,
      (_, before, index, step = 1, first = 0, width = 0, after) => {
        const number = BigInt(chunk.at(Number(index))!) * BigInt(step) +
          BigInt(first);
        const digits = String(number).padStart(Number(width), "0");
        const isBeside = before + after !== "";
        hasKey &&= number >= 0n && number <= BigInt(Number.MAX_SAFE_INTEGER) &&
          !(isBeside && width > 0 && digits.length > Number(width));
        return digits;
      },
    );
  return hasKey ? key : undefined;
}

const text = fc.constantFrom("", "", "", "_", ".", "/", "a", "0", "1", "5_");
const width = fc.constantFrom("", "", ":01", ":02", ":03");
const count = fc.constantFrom(
  ...["", "", "", "+1", "*10", "*10+5", "*-1+47", "*-10+1200", "*7+3", "+99"],
);
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
    counts: fc.array(count, { minLength: rank, maxLength: rank }),
    unnumbered: fc.nat(2),
  })
).map((form) => {
  const { rank, separator, dimensions, rest, negative, texts, widths } = form;
  // From the place `rest` on, all placeholders become one for the others.
  const places = dimensions.slice(0, rest).map((dimension, i) =>
    negative[i] ? dimension - rank : dimension
  );
  const indexes = [...places, ...rest < rank ? ["*"] : []];
  const format = indexes.reduce<string>(
    (format, index, i) =>
      `${format}{${index}${form.counts[i]}${widths[i]}}${texts[i + 1]}`,
    texts[0]!,
  );
  // Further dimensions have no placeholder, unless others are counted from the last one.
  const isAlone = rest >= rank && !places.some((index) => index < 0);
  const unnumbered = isAlone ? form.unnumbered : 0;
  return { format, separator, rank: rank + unnumbered, unnumbered };
});

const coordinate = fc.oneof(
  fc.nat(12),
  fc.nat(1200),
  fc.maxSafeNat(),
  fc.constantFrom(Number.MAX_SAFE_INTEGER, 9, 10, 99, 100, 999, 1000),
);
/** Coordinates of a chunk, mostly 0 along the last dimensions if these have no placeholder. */
export const chunks = (rank: number, unnumbered: number) =>
  fc.tuple(
    fc.array(coordinate, {
      minLength: rank - unnumbered,
      maxLength: rank - unnumbered,
    }),
    fc.array(
      fc.oneof({ weight: 9, arbitrary: fc.constant(0) }, fc.constant(1)),
      { minLength: unnumbered, maxLength: unnumbered },
    ),
  ).map(([numbered, others]) => [...numbered, ...others]);

export function make(
  { format, separator }: { format: string; separator: string },
): TemplateChunkKeyEncoding | undefined {
  try {
    return new TemplateChunkKeyEncoding(format, separator);
  } catch (error) {
    assert(error instanceof RangeError);
  }
}
