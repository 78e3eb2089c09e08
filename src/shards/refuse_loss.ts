import { describe } from "../metadata/describe.ts";
import { OtherBytesError } from "./other_bytes_error.ts";

/** Returns the error about other bytes of a shard that a write would lose or leave wrong. */
export function otherBytesLost(
  key: string,
  { offset, length }: { readonly offset: number; readonly length: number },
): OtherBytesError {
  return new OtherBytesError(
    `Shard ${describe(key)} has ${length} byte${
      length === 1 ? "" : "s"
    } at offset ${offset} besides its inner chunks, as a file of another format has, and this write would lose them or make them wrong: write it by setSharded with the container or the prefix of that format, or lose them by otherBytes: "replace", an option of setSharded and ArrayChunks.set`,
    { key, offset, length },
  );
}

/** Returns the error about a file that has more than its shard, which a container would not write. */
export function restOfFileLost(key: string, length: number): OtherBytesError {
  return new OtherBytesError(
    `File ${
      describe(key)
    } was adopted in part, and the container would write it without the rest, such as other pages of a TIFF or other arrays of a zip: lose the rest by otherBytes: "replace", or copy the array to other files first`,
    { key, offset: 0, length },
  );
}
