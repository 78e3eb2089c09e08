/** Parts of another length, and missing parts, in all ways of reading a chunk. */
import { assertEquals } from "@std/assert";
import {
  ELEMENTS,
  joinedParts,
  KEY,
  KINDS,
  storedArray,
} from "./damaged_arrays.ts";
import {
  BYTES,
  CHANGES,
  damaged,
  outcomeOf,
  READ_ELEMENTS,
  SIZES,
} from "./reading.ts";

const SHIFTS = ["cut by its first byte", "longer by a byte before it"];

for (const [name, kind] of Object.entries(KINDS)) {
  Deno.test(`a chunk ${name} is read without damage`, async () => {
    const stored = await storedArray(kind);
    const whole = await joinedParts(stored, kind);
    for (const read of Object.values(BYTES)) {
      assertEquals(await read(stored), whole);
    }
    for (const read of Object.values(SIZES)) {
      assertEquals(await read(stored), whole.length);
    }
    for (const read of Object.values(READ_ELEMENTS)) {
      assertEquals(await read(stored), ELEMENTS);
    }
  });

  for (const [suffix, size] of kind.parts) {
    for (const [how, change] of Object.entries(CHANGES)) {
      const isAbsent = how === "missing" && kind.parts.length === 1;
      Deno.test(`a chunk ${name} is ${isAbsent ? "absent" : "damaged"} if ${KEY}${suffix} is ${how}`, async () => {
        const stored = await damaged(kind, suffix, change);
        const isNoticed = how === "missing" || size !== undefined;
        const bytes = isAbsent
          ? undefined
          : isNoticed
          ? "damage"
          : await joinedParts(stored, kind);
        for (const [reader, read] of Object.entries(BYTES)) {
          assertEquals(await outcomeOf(read(stored)), bytes, reader);
        }
        const length = bytes === "damage" ? bytes : bytes?.length;
        for (const [reader, read] of Object.entries(SIZES)) {
          assertEquals(await outcomeOf(read(stored)), length, reader);
        }
      });

      const { layout } = await storedArray(kind);
      const isChecked = layout === undefined || kind.options?.codecs;
      // Nothing tells that the bytes of inner chunks without checksums have moved.
      if (SHIFTS.includes(how) && !isChecked && size === undefined) continue;
      const isLast = layout?.indexLocation === "start" || kind.parts.length > 1;
      const isUnread = layout !== undefined && !kind.hasTail &&
        (suffix === kind.header ||
          how === "longer by a zero" && size === undefined && isLast);
      const outcome = isUnread ? "read" : isAbsent ? "absent" : "damaged";
      Deno.test(`elements of a chunk ${name} are ${outcome} if ${KEY}${suffix} is ${how}`, async () => {
        const elements = isUnread
          ? ELEMENTS
          : isAbsent
          ? new Uint8Array(8)
          : "damage";
        for (const [reader, read] of Object.entries(READ_ELEMENTS)) {
          // Writing needs a header, which reading does not, and fills an absent chunk.
          if (reader.includes("set") && elements !== "damage") continue;
          const stored = await damaged(kind, suffix, change);
          assertEquals(await outcomeOf(read(stored)), elements, reader);
        }
      });
    }
  }
}
