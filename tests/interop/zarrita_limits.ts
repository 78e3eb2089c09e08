/** Stands for wrong elements that were read without an error. */
export const WRONG_ELEMENTS = "wrong elements";

const EMPTY = "Error: Input contains an empty iterator";
const ONLY_CODEC =
  'MetadataError: Expected "sharding_indexed" to be the only codec';
/** The start of zarrita's error for an unknown data type. */
export const UNKNOWN_TYPE =
  "InvalidMetadataError: Unknown or unsupported dataType: ";

/**
 * The arrays that zarrita 0.7.5 cannot read from any store: the starts of its
 * errors, or {@linkcode WRONG_ELEMENTS}.
 */
export const ZARRITA_LIMITS: Readonly<Record<string, string>> = {
  // zarrita reads every NaN as the same one.
  "fills/float32 0x7fc00001": WRONG_ELEMENTS,
  "fills/float32 0x7fc00001 only": WRONG_ELEMENTS,
  "ranks/of length 0": EMPTY,
  "other/bfloat16": `${UNKNOWN_TYPE}bfloat16`,
  "other/complex64": `${UNKNOWN_TYPE}complex64`,
  "other/complex128": `${UNKNOWN_TYPE}complex128`,
};

/** The arrays that `withZarrParts` refuses, since a codec comes before or after the shards: the starts of its errors. */
export const ZARR_PARTS_LIMITS: Readonly<Record<string, string>> = {
  "shards/transposed": ONLY_CODEC,
  "shards/transposed square": ONLY_CODEC,
  "shards/checked as a whole": ONLY_CODEC,
};

/** The arrays that zarrita's `withConsolidatedMetadata` reads wrongly: it writes -0 to JSON as 0. */
export const CONSOLIDATED_LIMITS: Readonly<Record<string, string>> = {
  "fills/float16 -0": WRONG_ELEMENTS,
  "fills/float16 -0 only": WRONG_ELEMENTS,
  "fills/float32 -0": WRONG_ELEMENTS,
  "fills/float32 -0 only": WRONG_ELEMENTS,
  "fills/float64 -0": WRONG_ELEMENTS,
  "fills/float64 -0 only": WRONG_ELEMENTS,
};
