import type { ByteRange } from "../../mod.ts";

/** Returns the bytes of a range of a value, an oracle for `getRange`. */
export function sliced(value: Uint8Array, range: ByteRange): Uint8Array {
  return "suffixLength" in range
    ? value.slice(Math.max(0, value.length - range.suffixLength))
    : value.slice(range.offset, range.offset + range.length);
}
