import { assertEquals } from "@std/assert";
import { countText } from "../../src/cli/format.ts";

Deno.test("countText puts commas between thousands", () => {
  for (
    const count of [0, 7, 999, 1000, 12_345, 999_999, 1_000_000, 2 ** 53 - 1]
  ) {
    assertEquals(countText(count), count.toLocaleString("en"));
  }
});
