import fc from "fast-check";
import { ArrayChunks, type ArrayMetadata, MemoryStore } from "../../mod.ts";
import { arrayMetadata, concatParts } from "./metadata.ts";

/** An array with any chunk key encoding and any parts to which chunks can be written. */
export interface AnyArray {
  stored: ArrayMetadata;
  /** The metadata in a plain view; the same object if it equals `stored`. */
  plain: ArrayMetadata;
  gridShape: readonly number[];
  /** The smallest possible size of a chunk in bytes, or the only one if `exact`. */
  least: number;
  exact: boolean;
}

interface Lengths {
  least: number;
  exact: boolean;
}
type Parts = { key_suffix: string; size?: number }[];

const PLAIN_KEYS = { name: "default", configuration: { separator: "/" } };

const base = fc.oneof(
  fc.constantFrom("default", "v2", "fanout"),
  fc.record({
    name: fc.constantFrom("default", "v2"),
    configuration: fc.record({ separator: fc.constantFrom("/", ".") }),
  }),
);
const suffixed = (base: fc.Arbitrary<unknown>) =>
  fc.record({
    name: fc.constant("suffix"),
    configuration: fc.record({
      suffix: fc.constantFrom(
        ".tiff",
        "",
        "0",
        ".0",
        "/0",
        "/data.c",
        "/c",
        "/c/0",
      ),
      base_encoding: base,
    }),
  });
const encoding = fc.oneof(
  { weight: 2, arbitrary: base },
  { weight: 2, arbitrary: suffixed(base) },
  { weight: 1, arbitrary: suffixed(suffixed(base)) },
);

/** Generates parts of which at most one is unsized. */
const partsUpTo = (size: number): fc.Arbitrary<Parts> =>
  fc.record({
    suffixes: fc.shuffledSubarray(["", ".h", "/i", ".0", "0", "/c/0"], {
      minLength: 1,
      maxLength: 4,
    }),
    unsized: fc.nat(3),
    sizes: fc.array(fc.nat(size), { minLength: 4, maxLength: 4 }),
  }).map(({ suffixes, unsized, sizes }) =>
    suffixes.map((key_suffix, i) =>
      i === unsized ? { key_suffix } : { key_suffix, size: sizes[i]! }
    )
  );
const layers = fc.oneof(
  { weight: 3, arbitrary: fc.constant([]) },
  { weight: 2, arbitrary: fc.tuple(partsUpTo(5)) },
  { weight: 2, arbitrary: fc.tuple(partsUpTo(9), partsUpTo(1)) },
);

/** Returns the sizes of chunks that layers of parts allow, or `undefined` if there are none. */
function lengthsOf([parts, ...below]: readonly Parts[]): Lengths | undefined {
  if (parts === undefined) return { least: 0, exact: false };
  const inner = lengthsOf(below);
  if (inner === undefined) return undefined;
  let least = 0;
  let exact = true;
  for (const { size } of parts) {
    if (size === undefined) exact = inner.exact;
    else if (inner.exact ? size !== inner.least : size < inner.least) return;
    least += size ?? inner.least;
  }
  return { least, exact };
}

/** Generates grid shapes of 0 to 5 dimensions, sometimes with a length of 0. */
const gridShape: fc.Arbitrary<number[]> = fc.oneof(
  fc.constant<number[]>([]),
  fc.tuple(fc.nat(12)),
  fc.tuple(fc.nat(3), fc.integer({ min: 1, max: 11 })),
  fc.tuple(...[1, 2, 3, 2, 1].map((max) => fc.integer({ min: 1, max }))),
);

function isUnderstood(stored: ArrayMetadata): boolean {
  try {
    new ArrayChunks(new MemoryStore(), "", stored);
    return true;
  } catch {
    return false; // Two of its parts could be stored under one key.
  }
}

/** Generates any array that can be stored. */
export const anyArray: fc.Arbitrary<AnyArray> = fc.record({
  encoding,
  layers,
  gridShape,
  /** Adds an empty list of transformers, or a transformer with `must_understand: false`. */
  idle: fc.constantFrom(undefined, "list", "transformer"),
  attributes: fc.dictionary(fc.constantFrom("a", "__proto__"), fc.nat(9)),
}).map(({ encoding, layers, gridShape, idle, attributes }) => {
  const transformers = [
    ...idle === "transformer" ? [{ name: "x", must_understand: false }] : [],
    ...layers.map((parts) => concatParts(...parts)),
  ];
  const { codecs, ...metadata } = arrayMetadata({
    shape: gridShape.map((count) => Math.max(0, 4 * count - 1)),
    chunk_grid: {
      name: "regular",
      configuration: { chunk_shape: gridShape.map(() => 4) },
    },
    chunk_key_encoding: encoding,
  });
  const isListed = transformers.length > 0 || idle === "list";
  const stored = {
    ...metadata,
    ...isListed ? { storage_transformers: transformers } : {},
    codecs,
    attributes,
  } as ArrayMetadata;
  const isDefault = encoding === "default" ||
    JSON.stringify(encoding) === JSON.stringify(PLAIN_KEYS);
  const isPlain = isDefault && transformers.length === 0;
  const plain = isPlain
    ? stored
    : { ...metadata, chunk_key_encoding: PLAIN_KEYS, codecs, attributes };
  return { stored, plain, gridShape, lengths: lengthsOf(layers) };
}).filter(({ stored, lengths }) =>
  lengths !== undefined && isUnderstood(stored)
)
  .map(({ lengths, ...array }) => ({ ...array, ...lengths! }));
