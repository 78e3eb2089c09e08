import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { isSameBytes } from "../../src/runtime/bytes.ts";

Deno.test("isSameBytes compares lengths and bytes, and absent values", () => {
  fc.assert(fc.property(
    fc.uint8Array({ maxLength: 4, max: 2 }),
    fc.uint8Array({ maxLength: 4, max: 2 }),
    (a, b) => assertEquals(isSameBytes(a, b), a.join() === b.join()),
  ));
  assertEquals(isSameBytes(undefined, undefined), true);
  assertEquals(isSameBytes(new Uint8Array(), undefined), false);
  assertEquals(isSameBytes(undefined, new Uint8Array()), false);
});
