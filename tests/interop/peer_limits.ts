import { UNKNOWN_TYPE, ZARR_PARTS_LIMITS } from "./zarrita_limits.ts";

// zarr-python compares the inner chunk shape with the shard shape before it is transposed.
const TRANSPOSED = "ValueError: The array's `chunk_shape`";

/** The starts of errors in writing, by program and array. */
export const CANNOT_WRITE: Readonly<
  Record<string, Readonly<Record<string, string>>>
> = {
  "zarr-python": {
    "fills/float32 0x7fc00001": "TypeError: Cannot convert object '0x7fc00001'",
    "fills/float32 0x7fc00001 only":
      "TypeError: Cannot convert object '0x7fc00001'",
    "ranks/0 in shards": "IndexError: too many indices for array",
    "shards/transposed": TRANSPOSED,
    "other/bfloat16": "TypeError: data type 'bfloat16' not understood",
  },
  "zarrita": {
    "shards/nested": "TypeError: Shard ",
    "other/bfloat16": UNKNOWN_TYPE,
    "other/complex64": UNKNOWN_TYPE,
    "other/complex128": UNKNOWN_TYPE,
    ...ZARR_PARTS_LIMITS,
  },
  "TensorStore": {
    "shards/checked as a whole":
      'ValueError: Error opening "zarr3" driver: Error writing local file',
  },
};

/** The starts of errors in reading, by program and array. */
export const CANNOT_READ: Readonly<
  Record<string, Readonly<Record<string, string>>>
> = {
  "zarr-python": {
    "shards/transposed": TRANSPOSED,
    "other/bfloat16":
      "ValueError: No Zarr data type found that matches 'bfloat16'",
  },
  "TensorStore": {
    "shards/checked as a whole":
      'ValueError: FAILED_PRECONDITION: Error opening "zarr3" driver: Error reading local file',
  },
};
