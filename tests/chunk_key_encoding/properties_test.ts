import {
  assert,
  assertEquals,
  assertStrictEquals,
  assertThrows,
} from "@std/assert";
import * as fc from "fast-check";
import {
  type ChunkKeyEncoding,
  ChunkKeyError,
  DefaultChunkKeyEncoding,
  FanoutChunkKeyEncoding,
  MetadataError,
  parseChunkKeyEncoding,
  SuffixChunkKeyEncoding,
  V2ChunkKeyEncoding,
} from "../../mod.ts";

/** An encoding, and the same as plain data for the oracles. */
interface Model {
  readonly kind: "default" | "v2";
  readonly separator: "/" | ".";
  /** Innermost first. */
  readonly suffixes: readonly string[];
}

const coordinate = fc.oneof(
  fc.nat(12),
  fc.nat(300),
  fc.maxSafeNat(),
  fc.constantFrom(Number.MAX_SAFE_INTEGER, 2 ** 31, 2 ** 32, 255, 256),
);
const coordinates = fc.array(coordinate, { maxLength: 5 });
const safeSuffix = fc.constantFrom(
  "",
  "0",
  "/0",
  ".",
  ".1",
  "/c",
  "c",
  ".tiff",
);
const models: fc.Arbitrary<Model> = fc.record({
  kind: fc.constantFrom("default", "v2"),
  separator: fc.constantFrom("/", "."),
  suffixes: fc.array(safeSuffix, { maxLength: 3 }),
});

/** Strings of the characters of keys, and of similar ones. */
const nearlyKeys = fc.array(
  fc.oneof(
    fc.constantFrom(..."c0123456789/.-+ e٣"),
    fc.constantFrom("0", "12", "/", ".", "9007199254740991"),
  ),
  { maxLength: 6 },
).map((pieces) => pieces.join(""));

const codeUnits = fc.string({
  unit: fc.nat(0xffff).map((code) => String.fromCharCode(code)),
});

function make({ kind, separator, suffixes }: Model): ChunkKeyEncoding {
  return suffixes.reduce<ChunkKeyEncoding>(
    (base, suffix) => new SuffixChunkKeyEncoding(suffix, base),
    kind === "default"
      ? new DefaultChunkKeyEncoding(separator)
      : new V2ChunkKeyEncoding(separator),
  );
}

function encodeSlowly({ kind, separator, suffixes }: Model, chunk: number[]) {
  const base = kind === "default"
    ? ["c", ...chunk].join(separator)
    : chunk.join(separator) || "0";
  return base + suffixes.join("");
}

/** Decodes a key slowly, by regular expressions and round trips; `undefined` for keys of no chunk. */
function decodeSlowly(model: Model, key: string, rank?: number) {
  const suffix = model.suffixes.join("");
  if (!key.endsWith(suffix)) return undefined;
  const base = key.slice(0, key.length - suffix.length);
  if (!/^c?[0-9/.]*$/.test(base)) return undefined;
  const numbers = base.split(/[c/.]/).filter((text) => text !== "").map(Number);
  return [numbers, []].find((chunk) =>
    chunk.every(Number.isSafeInteger) &&
    encodeSlowly(model, chunk) === key &&
    (rank === undefined || rank === chunk.length)
  );
}

/** Asserts that the fast decoder and the oracle agree; returns whether the key was accepted. */
function assertDecodesSo(model: Model, key: string, rank?: number): boolean {
  const encoding = make(model);
  const expected = decodeSlowly(model, key, rank);
  if (expected === undefined) {
    const error = assertThrows(() => encoding.decode(key, rank), ChunkKeyError);
    assertStrictEquals(error.key, key);
    return false;
  }
  assertEquals(encoding.decode(key, rank), expected);
  assertStrictEquals(encoding.encode(expected), key);
  return true;
}

Deno.test("ChunkKeyEncoding.encode agrees with joined strings, and decode is its inverse", () => {
  fc.assert(fc.property(models, coordinates, (model, chunk) => {
    const encoding = make(model);
    const key = encoding.encode(chunk);
    assertStrictEquals(key, encodeSlowly(model, chunk));
    assertEquals(encoding.decode(key, chunk.length), chunk);
    if (model.kind === "default" || chunk.length > 0) {
      assertEquals(encoding.decode(key), chunk);
    }
    const json = JSON.stringify(encoding);
    const parsed = parseChunkKeyEncoding(JSON.parse(json));
    assertEquals(parsed, encoding);
    assertStrictEquals(JSON.stringify(parsed), json);
  }));
});

Deno.test("ChunkKeyEncoding.decode agrees with the oracle on nearly valid keys", () => {
  let accepted = 0;
  const rank = fc.option(fc.nat(3), { nil: undefined, freq: 1 });
  const property = fc.property(
    models,
    nearlyKeys,
    rank,
    (model, rest, rank) => {
      const ending = model.suffixes.join("");
      const start = model.kind === "default" ? `c${model.separator}` : "";
      for (const key of [rest, rest + ending, start + rest + ending]) {
        if (assertDecodesSo(model, key, rank)) accepted++;
      }
    },
  );
  fc.assert(property, { numRuns: 2000, seed: 1 });
  // The test is only useful if both outcomes are frequent.
  assert(accepted > 300, `accepted ${accepted}`);
});

Deno.test("ChunkKeyEncoding.decode agrees with the oracle on valid keys with one change", () => {
  const change = fc.record({
    at: fc.nat(20),
    remove: fc.nat(2),
    insert: fc.constantFrom("", ..."c0123456789/.-+ e٣"),
  });
  fc.assert(
    fc.property(models, coordinates, change, (model, chunk, change) => {
      const key = encodeSlowly(model, chunk);
      const at = change.at % (key.length + 1);
      const changed = key.slice(0, at) + change.insert +
        key.slice(at + change.remove);
      assertDecodesSo(model, changed);
      for (const rank of [0, 1, chunk.length]) {
        assertDecodesSo(model, changed, rank);
      }
    }),
    { numRuns: 1000 },
  );
});

Deno.test("ChunkKeyEncoding.decode agrees with the oracle on any string", () => {
  fc.assert(
    fc.property(models, codeUnits, (model, key) => {
      assertDecodesSo(model, key);
      assertDecodesSo(model, `c${key}`, 1);
    }),
  );
});

Deno.test("SuffixChunkKeyEncoding only returns keys inside the array's folder", () => {
  const pieces = fc.constantFrom(
    ...["/", "/", ".", "..", "x", "\\", "\u0000", "zarr.json", ".zarray", "0"],
  );
  const suffix = fc.array(pieces, { maxLength: 4 }).map((all) => all.join(""));
  let accepted = 0;
  const property = fc.property(
    fc.array(suffix, { minLength: 1, maxLength: 2 }),
    coordinates,
    (suffixes, chunk) => {
      for (const kind of ["default", "v2"] as const) {
        // The keys of each nested encoding must be safe, too.
        const isSafe = suffixes.every((_, index) => {
          const segments = encodeSlowly(
            { kind, separator: "/", suffixes: suffixes.slice(0, index + 1) },
            chunk,
          ).split("/");
          return !segments.some((segment) =>
            ["", ".", ".."].includes(segment) || /[\\\0]/.test(segment)
          ) && !["zarr.json", ".zarray"].includes(segments.at(-1)!);
        });
        if (isSafe) {
          accepted++;
          make({ kind, separator: "/", suffixes }).encode(chunk);
        } else {
          assertThrows(
            () => make({ kind, separator: "/", suffixes }),
            RangeError,
            "cannot be used",
          );
        }
      }
    },
  );
  fc.assert(property, { numRuns: 500, seed: 1 });
  assert(accepted > 100 && accepted < 900, `accepted ${accepted}`);
});

Deno.test("parseChunkKeyEncoding returns an encoding or throws a MetadataError for any JSON", () => {
  const names = fc.constantFrom(
    ...["default", "v2", "suffix", "template", "fanout", "__proto__", "x"],
  );
  const { metadata } = fc.letrec((tie) => ({
    metadata: fc.oneof(
      { maxDepth: 4 },
      names,
      fc.jsonValue({ maxDepth: 2 }),
      fc.record({
        name: names,
        configuration: fc.record({
          separator: fc.constantFrom("/", ".", "|", null),
          suffix: fc.constantFrom(".x", "", "/", null),
          format: fc.constantFrom("{0}", "{*}", "{", null),
          template: fc.constantFrom("{0}", "{*}", "{", null),
          max_children: fc.constantFrom(1000, 250, 99, null),
          base_encoding: tie("metadata"),
          "base-encoding": tie("metadata"),
        }, { requiredKeys: [] }),
        must_understand: fc.boolean(),
      }, { requiredKeys: ["name"] }),
    ),
  }));
  fc.assert(
    fc.property(metadata, (metadata) => {
      try {
        const encoding = parseChunkKeyEncoding(metadata);
        assertEquals(parseChunkKeyEncoding(encoding.toJSON()), encoding);
      } catch (error) {
        if (!(error instanceof MetadataError)) throw error;
      }
    }),
    { numRuns: 1000 },
  );
});

/** The key by the steps of the draft, with the power of ten below `maxChildren`. */
function encodeFanoutSlowly(
  chunk: readonly number[],
  maxChildren: number,
): string {
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

Deno.test("FanoutChunkKeyEncoding agrees with the steps of the draft, and decodes no changed key", () => {
  const chunks = fc.array(
    fc.oneof(
      fc.nat(1200),
      fc.maxSafeNat(),
      fc.constantFrom(99, 100, 999, 1000, 999_999, 1_000_000),
    ),
    { maxLength: 4 },
  );
  const maxChildren = fc.oneof(
    fc.integer({ min: 100, max: 20_000 }),
    fc.integer({ min: 100, max: Number.MAX_SAFE_INTEGER }),
  );
  const change = fc.record({
    at: fc.nat(30),
    remove: fc.nat(4),
    insert: fc.constantFrom("", "/", "/0/000", "00", ..."0123456789.-c٣"),
  });
  let [accepted, rejected] = [0, 0];
  const property = fc.property(chunks, maxChildren, change, (chunk, max, {
    at,
    remove,
    insert,
  }) => {
    const encoding = new FanoutChunkKeyEncoding(max);
    const key = encoding.encode(chunk);
    assertStrictEquals(key, encodeFanoutSlowly(chunk, max));
    assertEquals(encoding.decode(key, chunk.length), chunk);
    assertEquals(parseChunkKeyEncoding(encoding.toJSON()), encoding);
    const start = at % (key.length + 1);
    const changed = key.slice(0, start) + insert + key.slice(start + remove);
    let decoded: number[];
    try {
      decoded = encoding.decode(changed);
    } catch (error) {
      assert(error instanceof ChunkKeyError && error.key === changed);
      rejected++;
      return;
    }
    assertStrictEquals(encodeFanoutSlowly(decoded, max), changed);
    accepted++;
  });
  fc.assert(property, { numRuns: 2000, seed: 1 });
  assert(accepted > 100 && rejected > 200, `${accepted} and ${rejected}`);
});
