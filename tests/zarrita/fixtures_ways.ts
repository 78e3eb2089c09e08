import type { NamedConfiguration } from "../../mod.ts";
import { concatParts } from "../support/metadata.ts";

/** The lengths of an array's encoded chunks, in bytes. */
export interface ChunkLengths {
  readonly least: number;
  readonly most: number;
  /** Of the index, where chunks are shards. */
  readonly index?: { readonly size: number; readonly isFirst: boolean };
}

/** How an array is stored: members of its metadata. */
export interface Way {
  readonly chunk_key_encoding: unknown;
  readonly storage_transformers?: readonly NamedConfiguration[];
}

function separated(name: string, separator: string) {
  return { name, configuration: { separator } };
}

function suffix(suffix: string, base_encoding: unknown) {
  return { name: "suffix", configuration: { suffix, base_encoding } };
}

const BASES = ["default", "v2"].flatMap((name) =>
  ["/", "."].map((separator) => separated(name, separator))
);

/** All chunk key encodings, with both separators, and suffixes over each. */
export const KEY_ENCODINGS: readonly unknown[] = [
  ...BASES,
  ...BASES.map((base, i) =>
    suffix([".tiff", ".shard.zip", "/data.ü", "-0"][i]!, base)
  ),
  suffix(".zip", suffix(".shard", "v2")),
  { name: "suffix", configuration: { suffix: ".bin" } },
  "v2",
];

/** Parts for chunks of some lengths, by description. */
export function transformersFor(
  { least, most, index }: ChunkLengths,
): Record<string, readonly NamedConfiguration[] | undefined> {
  const half = Math.ceil(least / 2);
  const quarter = Math.floor(least / 4);
  const eighth = Math.floor(least / 8);
  const tail = (size: number) => [
    concatParts({ key_suffix: "" }, { key_suffix: ".tail", size }),
  ];
  const head = (size: number) => [
    concatParts({ key_suffix: ".head", size }, { key_suffix: ".data" }),
  ];
  return {
    "no transformers": undefined,
    "an empty list": [],
    "one to be skipped": [{ name: "none", must_understand: false }],
    "one part": [concatParts({ key_suffix: ".data" })],
    "a tail part of nothing": tail(0),
    ...least > 0 && { "a tail part of one byte": tail(1) },
    "a tail part of a whole chunk": tail(least),
    "a head part of a whole chunk": head(least),
    "heads and tails": [
      concatParts(
        { key_suffix: ".head", size: quarter },
        { key_suffix: "/head ü", size: eighth },
        { key_suffix: ".data" },
        { key_suffix: ".tail", size: quarter },
        { key_suffix: ".last", size: least - 2 * quarter - eighth },
      ),
    ],
    ...least === most && {
      "all parts sized": [
        concatParts(
          { key_suffix: ".a", size: half },
          { key_suffix: "", size: least - half },
        ),
      ],
      "one part sized": [concatParts({ key_suffix: "", size: least })],
    },
    "two stacked": [...tail(half), ...head(quarter)],
    "three stacked": [
      ...tail(half),
      ...head(quarter),
      concatParts({ key_suffix: "" }, { key_suffix: ".3", size: eighth }),
    ],
    ...index && aroundIndex(index, least, index.isFirst ? head : tail),
  };
}

/** Parts of the size of the index, and of one byte less and more. */
function aroundIndex(
  { size, isFirst }: NonNullable<ChunkLengths["index"]>,
  least: number,
  part: (size: number) => readonly NamedConfiguration[],
) {
  const index = { key_suffix: ".index", size };
  const other = [{ key_suffix: ".header", size: 1 }, { key_suffix: "" }];
  return {
    "an index part": part(size),
    "an index part short of a byte": part(size - 1),
    ...least > size && {
      "an index part and a byte more": part(size + 1),
      "a header and an index part": [
        concatParts(...isFirst ? [index, ...other] : [...other, index]),
      ],
    },
  };
}

/** Parts that do not fit a chunk of a length, which is shorter or longer. */
export function refusingWays(length: number): readonly Way[] {
  const more = length + 1;
  return [
    [concatParts({ key_suffix: "" }, { key_suffix: ".tail", size: more })],
    [concatParts({ key_suffix: ".head", size: more }, { key_suffix: "" })],
    [concatParts({ key_suffix: "", size: more })],
    [concatParts({ key_suffix: ".a", size: length }, {
      key_suffix: ".b",
      size: 1,
    })],
    ...length > 0 ? [[concatParts({ key_suffix: "", size: length - 1 })]] : [],
    [
      concatParts({ key_suffix: ".1" }, { key_suffix: ".2", size: more }),
      concatParts({ key_suffix: "" }, { key_suffix: ".tail", size: 1 }),
    ],
  ].map((storage_transformers, i) => ({
    chunk_key_encoding: KEY_ENCODINGS[i]!,
    storage_transformers,
  }));
}
