import { assertEquals, assertThrows } from "@std/assert";
import { assertByteRange, resolveByteRange } from "../../src/stores/store.ts";
import {
  assertStoreKey,
  assertStorePrefix,
  isMetadataKey,
  keyProblem,
} from "../../src/stores/store_key.ts";
import { countingBytes } from "../support/bytes.ts";
import { sliced } from "./sliced.ts";

Deno.test("keyProblem describes the problem of a key", () => {
  for (
    const [key, problem] of [
      ["", "holds an empty segment"],
      ["a//b", "holds an empty segment"],
      ["/a", "holds an empty segment"],
      ["a/", "holds an empty segment"],
      [".", 'holds the segment "."'],
      ["a/../b", 'holds the segment ".."'],
      ["a\\b", "holds a backslash"],
      ["a\u0000", "holds a control character (U+0000)"],
      ["a\u001f", "holds a control character (U+001F)"],
      ["a\u007f", "holds a control character (U+007F)"],
      ["a\u009f", "holds a control character (U+009F)"],
      ["a\ud83d", "holds half a surrogate pair (U+D83D)"],
      ["\ude00a", "holds half a surrogate pair (U+DE00)"],
      ["c/0/1", undefined],
      ["...", undefined],
      ["..a/.b/c.", undefined],
      [" ~\u00a0😀", undefined],
    ] as const
  ) assertEquals(keyProblem(key), problem, JSON.stringify(key));
});

Deno.test("assertStoreKey and assertStorePrefix describe a valid key", () => {
  assertStoreKey("/c/0/1");
  for (const prefix of ["/", "/c", "/c/", "/c/.", "/c/.."]) {
    assertStorePrefix(prefix);
  }
  const cases: [refuse: (key: string) => void, key: string, message: string][] =
    [
      [
        assertStoreKey,
        "c/0",
        'Key "c/0" does not start with "/": a key is "/"',
      ],
      [assertStoreKey, "/c//0", 'Key "/c//0" holds an empty segment: a key is'],
      [
        assertStorePrefix,
        "c/",
        'Prefix "c/" does not start with "/": a prefix',
      ],
      [assertStorePrefix, "/../", 'Prefix "/../" holds the segment ".."'],
    ];
  for (const [refuse, key, message] of cases) {
    assertThrows(() => refuse(key), RangeError, message);
  }
});

Deno.test("isMetadataKey tests only the last segment", () => {
  for (const key of ["zarr.json", "/a/.zarray", "a/.zmetadata"]) {
    assertEquals(isMetadataKey(key), true);
  }
  for (const key of ["zarr.json/c", "xzarr.json", "/zarr.json.tiff", ""]) {
    assertEquals(isMetadataKey(key), false);
  }
});

const MOST = Number.MAX_SAFE_INTEGER;

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
  // The numbers are tested with all stores.
  assertByteRange({ offset: MOST, length: MOST });
  assertByteRange({ suffixLength: MOST });
  assertThrows(
    () => assertByteRange({ offset: "1", length: 1 } as never),
    TypeError,
    'Expected the range\'s offset to be a whole number from 0 to 2^53−1, found "1"',
  );
});
