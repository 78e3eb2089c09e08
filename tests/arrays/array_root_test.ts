import { assertEquals, assertThrows } from "@std/assert";
import { arrayRoot } from "../../src/arrays/array_storage.ts";

Deno.test("arrayRoot takes a path with slashes around it or without", () => {
  for (const path of ["", "/"]) assertEquals(arrayRoot(path), "");
  for (const path of ["a/b", "/a/b", "a/b/", "/a/b/"]) {
    assertEquals(arrayRoot(path), "/a/b");
  }
});

Deno.test("arrayRoot refuses paths that leave the store or name nothing", () => {
  const expected =
    `expected the array's path in the store, such as "elevation" or "" for the root`;
  const cases = {
    "//": "holds an empty segment",
    "a//b": "holds an empty segment",
    "https://example.org/a.zarr": "holds an empty segment",
    ".": 'holds the segment "."',
    "..": 'holds the segment ".."',
    "a/../b": 'holds the segment ".."',
    "a\\b": "holds a backslash",
    "a\0": "holds a control character (U+0000)",
  };
  for (const [path, problem] of Object.entries(cases)) {
    const error = assertThrows(() => arrayRoot(path), RangeError);
    assertEquals(
      error.message,
      `Path ${JSON.stringify(path)} ${problem}; ${expected}`,
    );
  }
  for (const path of [null, 5, { shape: [1] }]) {
    assertThrows(() => arrayRoot(path as never), TypeError, expected.slice(1));
  }
});
