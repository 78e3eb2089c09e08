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
import { runs } from "../support/runs.ts";

const MAX = Number.MAX_SAFE_INTEGER;

/** An encoding as plain data for the oracles. */
interface Model {
  readonly kind: "default" | "v2" | "fanout";
  readonly separator: "/" | ".";
  readonly maxChildren: number;
  /** Innermost first. */
  readonly suffixes: readonly string[];
}

const coordinates = fc.array(
  fc.oneof(
    fc.nat(12),
    fc.nat(1200),
    fc.maxSafeNat(),
    fc.constantFrom(MAX, 2 ** 31, 2 ** 32, 255, 256, 99, 100, 999_999, 1e6),
  ),
  { maxLength: 5 },
);
const models: fc.Arbitrary<Model> = fc.record({
  kind: fc.constantFrom("default", "v2", "fanout"),
  separator: fc.constantFrom("/", "."),
  maxChildren: fc.oneof(
    fc.constantFrom(100, 1000),
    fc.integer({ min: 100, max: MAX }),
  ),
  suffixes: fc.array(
    fc.constantFrom("", "0", "/0", ".", ".1", "/c", "c", ".tiff"),
    { maxLength: 3 },
  ),
});

function make(
  { kind, separator, suffixes, maxChildren }: Model,
): ChunkKeyEncoding {
  const base = {
    default: () => new DefaultChunkKeyEncoding(separator),
    v2: () => new V2ChunkKeyEncoding(separator),
    fanout: () => new FanoutChunkKeyEncoding(maxChildren),
  }[kind]();
  return suffixes.reduce<ChunkKeyEncoding>(
    (base, suffix) => new SuffixChunkKeyEncoding(suffix, base),
    base,
  );
}

function encodeSlowly(
  { kind, separator, suffixes, maxChildren }: Model,
  chunk: readonly number[],
): string {
  const base = {
    default: () => ["c", ...chunk].join(separator),
    v2: () => chunk.join(separator) || "0",
    fanout: () =>
      ["c", ...chunk.flatMap((each) => fanOut(each, maxChildren))].join("/"),
  }[kind]();
  return base + suffixes.join("");
}

/** The names of a coordinate by the steps of the draft, with the power of ten below `maxChildren`. */
function fanOut(coordinate: number, maxChildren: number): string[] {
  const { length } = `${maxChildren}`.slice(1);
  const names: string[] = [];
  let rest = BigInt(coordinate);
  do {
    names.unshift(`${rest % 10n ** BigInt(length)}`.padStart(length, "0"));
    rest /= 10n ** BigInt(length);
  } while (rest > 0n);
  return [`${names.length - 1}`, ...names];
}

/** Decodes a key slowly, by regular expressions and round trips; `undefined` for keys of no chunk. */
function decodeSlowly(model: Model, key: string, rank?: number) {
  const suffix = model.suffixes.join("");
  if (!key.endsWith(suffix)) return undefined;
  const base = key.slice(0, key.length - suffix.length);
  if (!/^c?[0-9/.]*$/.test(base)) return undefined;
  const texts = base.split(/[c/.]/).filter((text) => text !== "");
  const joined: string[] = [];
  for (let i = 0; i < texts.length;) {
    const next = i + Number(texts[i]) + 2;
    joined.push(texts.slice(i + 1, next).join(""));
    i = next;
  }
  const numbers = (model.kind === "fanout" ? joined : texts).map(Number);
  return [numbers, []].find((chunk) =>
    chunk.every(Number.isSafeInteger) &&
    encodeSlowly(model, chunk) === key &&
    (rank === undefined || rank === chunk.length)
  );
}

Deno.test("ChunkKeyEncoding.encode agrees with joined strings, decode is its inverse, and toJSON that of the parser", () => {
  fc.assert(fc.property(models, coordinates, (model, chunk) => {
    const encoding = make(model);
    const key = encoding.encode(chunk);
    assertStrictEquals(key, encodeSlowly(model, chunk));
    assertEquals(encoding.decode(key, chunk.length), chunk);
    if (model.kind !== "v2" || chunk.length > 0) {
      assertEquals(encoding.decode(key), chunk);
    }
    const json = JSON.stringify(encoding);
    const parsed = parseChunkKeyEncoding(JSON.parse(json));
    assertEquals(parsed, encoding);
    assertStrictEquals(JSON.stringify(parsed), json);
  }));
});

Deno.test("ChunkKeyEncoding.decode agrees with the oracle on changed keys, keys of like characters and any string", () => {
  const like = fc.array(
    fc.oneof(
      fc.constantFrom(..."c0123456789/.-+ e٣"),
      fc.constantFrom("0", "12", "/", ".", `${MAX}`, "0/000", "1/001/234"),
    ),
    { maxLength: 6 },
  ).map((pieces) => pieces.join(""));
  const any = fc.string({
    unit: fc.nat(0xffff).map((code) => String.fromCharCode(code)),
  });
  const change = fc.record({
    at: fc.nat(30),
    remove: fc.nat(4),
    insert: fc.constantFrom("", "/0/000", "00", ..."c0123456789/.-+ e٣"),
  });
  const ranks = fc.option(fc.nat(3), { nil: undefined, freq: 1 });
  let [accepted, rejected] = [0, 0];
  const property = fc.property(
    ...[models, coordinates, change, like, any, ranks] as const,
    (model, chunk, { at, remove, insert }, like, any, rank) => {
      const encoding = make(model);
      const key = encodeSlowly(model, chunk);
      const start = at % (key.length + 1);
      const changed = key.slice(0, start) + insert + key.slice(start + remove);
      const ending = model.suffixes.join("");
      const beginning = model.kind === "v2" ? "" : `c${model.separator}`;
      for (
        const key of [changed, like, like + ending, any, `c${any}`]
          .concat(beginning + like + ending)
      ) {
        for (const expectedRank of [undefined, rank, chunk.length]) {
          const expected = decodeSlowly(model, key, expectedRank);
          const decode = () => encoding.decode(key, expectedRank);
          if (expected === undefined) {
            const error = assertThrows(decode, ChunkKeyError);
            assertStrictEquals(error.key, key);
            rejected++;
          } else {
            assertEquals(decode(), expected);
            accepted++;
          }
        }
      }
    },
  );
  fc.assert(property, { numRuns: runs(2000), seed: 1 });
  // The test is only useful if both outcomes are frequent.
  assert(
    accepted > runs(1000) && rejected > runs(1000),
    `${accepted} and ${rejected}`,
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
      const maxChildren = 100;
      for (const kind of ["default", "v2", "fanout"] as const) {
        // The keys of each nested encoding must be safe, too.
        const isSafe = suffixes.every((_, index) => {
          const segments = encodeSlowly(
            {
              kind,
              separator: "/",
              suffixes: suffixes.slice(0, index + 1),
              maxChildren,
            },
            chunk,
          ).split("/");
          return !segments.some((segment) =>
            ["", ".", ".."].includes(segment) || /[\\\0]/.test(segment)
          ) && !["zarr.json", ".zarray"].includes(segments.at(-1)!);
        });
        if (isSafe) {
          accepted++;
          make({ kind, separator: "/", suffixes, maxChildren }).encode(chunk);
        } else {
          assertThrows(
            () => make({ kind, separator: "/", suffixes, maxChildren }),
            RangeError,
            "cannot be used",
          );
        }
      }
    },
  );
  fc.assert(property, { numRuns: 500, seed: 1 });
  assert(accepted > 100 && accepted < 1400, `accepted ${accepted}`);
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
    { numRuns: runs(1000) },
  );
});
