import type { ByteRange } from "../../mod.ts";

/** What a range of a value is, byte by byte. */
export function sliced(value: Uint8Array, range: ByteRange): Uint8Array {
  return "suffixLength" in range
    ? value.filter((_, i) => i >= value.length - range.suffixLength)
    : value.filter((_, i) =>
      i >= range.offset && i - range.offset < range.length
    );
}
