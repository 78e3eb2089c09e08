import { assertEquals } from "@std/assert";
import { addHash } from "../../src/hierarchy/mod.ts";

Deno.test("addHash gives the same sum in any order, also where the sum begins anew", () => {
  const texts = Array.from({ length: 20 }, (_, i) => `/c/${i}`);
  for (let start = 2 ** 52 - 3; start < 2 ** 52; start++) {
    const sum = texts.reduce(addHash, start);
    assertEquals(texts.toReversed().reduce(addHash, start), sum);
    const exact = texts.reduce(
      (sum, text) => sum + BigInt(addHash(0, text)),
      BigInt(start),
    );
    assertEquals(BigInt(sum), exact % 2n ** 52n);
  }
});
