import { assertEquals, assertInstanceOf } from "@std/assert";
import { DamageError } from "../../mod.ts";
import { compression, NAMES, sample, WAYS } from "./compression_support.ts";

for (const name of NAMES) {
  for (const way of WAYS) {
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
