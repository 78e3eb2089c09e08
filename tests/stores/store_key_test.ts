import { assertEquals, assertThrows } from "@std/assert";
import {
  assertStoreKey,
  assertStorePrefix,
  isMetadataKey,
  keyProblem,
} from "../../src/stores/store_key.ts";

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
  assertThrows(
    () => assertStoreKey("c/0"),
    RangeError,
    'Key "c/0" does not start with "/": a key is "/" and names joined by "/"',
  );
  assertThrows(
    () => assertStoreKey("/c//0"),
    RangeError,
    'Key "/c//0" holds an empty segment: a key is',
  );
  for (const prefix of ["/", "/c", "/c/", "/c/.", "/c/.."]) {
    assertStorePrefix(prefix);
  }
  assertThrows(
    () => assertStorePrefix("c/"),
    RangeError,
    'Prefix "c/" does not start with "/": a prefix is the start of a key',
  );
  assertThrows(
    () => assertStorePrefix("/../"),
    RangeError,
    'Prefix "/../" holds the segment ".."',
  );
});

Deno.test("isMetadataKey tests only the last segment", () => {
  for (const key of ["zarr.json", "/a/.zarray", "a/.zmetadata"]) {
    assertEquals(isMetadataKey(key), true);
  }
  for (const key of ["zarr.json/c", "xzarr.json", "/zarr.json.tiff", ""]) {
    assertEquals(isMetadataKey(key), false);
  }
});
