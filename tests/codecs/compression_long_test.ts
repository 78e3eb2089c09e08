import { assertEquals, assertInstanceOf, assertRejects } from "@std/assert";
import { DamageError } from "../../mod.ts";
import { noteKey } from "../../src/codecs/codec.ts";
import { takeAll } from "../support/runs.ts";
import { compression, NAMES, sample, WAYS } from "./compression_support.ts";

takeAll();
await import("./compression_test.ts");

for (const name of NAMES) {
  for (const way of WAYS) {
    Deno.test(`${name} refuses bytes cut at any place, by the ${way} way, with the key`, async () => {
      const bytes = sample(2000);
      const encoded = await compression(name, "native").encode(bytes);
      for (const length of [undefined, 2000]) {
        const codec = compression(name, way, length);
        for (let cut = 0; cut < encoded.length; cut++) {
          const piece = encoded.slice(0, cut);
          noteKey(piece, "/c/0");
          const error = await assertRejects(
            () => codec.decode(piece),
            DamageError,
            'The chunk at "/c/0"',
          );
          assertEquals(error.key, "/c/0");
        }
      }
    });

    Deno.test(`${name} never returns other bytes than the encoded ones if a bit flips under a checksum, by the ${way} way`, async () => {
      const bytes = sample(500);
      const checksum = name === "zstd" ? { checksum: true } : {};
      const encoded = await compression(name, "native", undefined, checksum)
        .encode(bytes);
      const codec = compression(name, way, bytes.length);
      let refused = 0;
      for (let bit = 0; bit < 8 * encoded.length; bit++) {
        const flipped = encoded.slice();
        flipped[bit >> 3]! ^= 1 << (bit & 7);
        try {
          assertEquals(await codec.decode(flipped), bytes);
        } catch (error) {
          assertInstanceOf(error, DamageError);
          refused++;
        }
      }
      assertEquals(refused > 7 * encoded.length, true);
    });
  }
}
