/** What reading gives where no error says that it is wrong. */
export const OTHERWISE = "other elements";

const EMPTY = "Error: Input contains an empty iterator";
const ONLY_CODEC =
  'MetadataError: Expected "sharding_indexed" to be the only codec';
/** How zarrita refuses a data type. */
export const UNKNOWN_TYPE =
  "InvalidMetadataError: Unknown or unsupported dataType: ";

/**
 * What zarrita 0.7.5 cannot read, whatever store it reads: how its errors start,
 * or {@linkcode OTHERWISE}.
 */
export const ZARRITA_LIMITS: Readonly<Record<string, string>> = {
  // Of all NaN it knows one.
  "fills/float32 0x7fc00001": OTHERWISE,
  "fills/float32 0x7fc00001 only": OTHERWISE,
  "ranks/of length 0": EMPTY,
  "other/bfloat16": `${UNKNOWN_TYPE}bfloat16`,
  "other/complex64": `${UNKNOWN_TYPE}complex64`,
  "other/complex128": `${UNKNOWN_TYPE}complex128`,
};

/** What withZarrParts refuses, since elements or shards are changed on the way: how its errors start. */
export const ZARR_PARTS_LIMITS: Readonly<Record<string, string>> = {
  "shards/transposed": ONLY_CODEC,
  "shards/transposed square": ONLY_CODEC,
  "shards/checked as a whole": ONLY_CODEC,
};

/** What zarrita's `withConsolidatedMetadata` cannot read besides: it writes -0 as JSON, which makes it 0. */
export const CONSOLIDATED_LIMITS: Readonly<Record<string, string>> = {
  "fills/float16 -0": OTHERWISE,
  "fills/float16 -0 only": OTHERWISE,
  "fills/float32 -0": OTHERWISE,
  "fills/float32 -0 only": OTHERWISE,
  "fills/float64 -0": OTHERWISE,
  "fills/float64 -0 only": OTHERWISE,
};
