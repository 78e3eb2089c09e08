import { assertEquals, assertThrows } from "@std/assert";
import { assertByteRange, resolveByteRange } from "../../src/stores/store.ts";
import { countingBytes } from "../support/bytes.ts";
import { sliced } from "./sliced.ts";

const MOST = Number.MAX_SAFE_INTEGER;

Deno.test("assertByteRange accepts whole numbers from 0 to 2^53−1", () => {
  for (const good of [0, 1, MOST]) {
    assertByteRange({ offset: good, length: good });
    assertByteRange({ suffixLength: good });
  }
  for (const wrong of [-1, 0.5, NaN, Infinity, -Infinity, MOST + 1]) {
    for (
      const [name, range] of [
        ["offset", { offset: wrong, length: 0 }],
        ["length", { offset: 0, length: wrong }],
        ["suffixLength", { suffixLength: wrong }],
      ] as const
    ) {
      assertThrows(
        () => assertByteRange(range),
        RangeError,
        `Expected the range's ${name} to be a whole number from 0 to 2^53−1, found ${wrong}`,
      );
    }
  }
});

Deno.test("resolveByteRange ends a range at the end of the value", () => {
  for (const size of [0, 1, 2, 5]) {
    const value = countingBytes(size);
    for (const a of [0, 1, 2, 4, 5, 6, MOST]) {
      for (const b of [0, 1, 2, 4, 5, 6, MOST]) {
        for (const range of [{ offset: a, length: b }, { suffixLength: b }]) {
          const { start, end } = resolveByteRange(range, size);
          assertEquals(value.slice(start, end), sliced(value, range));
          assertEquals(0 <= start && start <= end && end <= size, true);
        }
      }
    }
  }
});

Deno.test("assertByteRange rejects invalid ranges and other types", () => {
  for (
    const [range, found] of [
      [{}, "neither"],
      [{ offset: 1 }, "offset"],
      [{ length: 1 }, "length"],
      [{ offset: 1, suffixLength: 1 }, "suffixLength and offset"],
      [
        { offset: 1, length: 1, suffixLength: 1 },
        "suffixLength and offset and length",
      ],
      [undefined, "neither"],
      [null, "neither"],
      [7, "neither"],
    ] as [never, string][]
  ) {
    assertThrows(
      () => assertByteRange(range),
      TypeError,
      `Expected a range with either suffixLength or offset and length, found ${found}`,
    );
  }
  assertThrows(
    () => assertByteRange({ offset: "1", length: 1 } as never),
    TypeError,
    'Expected the range\'s offset to be a whole number from 0 to 2^53−1, found "1"',
  );
});
