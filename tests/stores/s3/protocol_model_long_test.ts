import { assertEquals } from "@std/assert";
import { explore, LARGE_SCENES } from "./protocol_model.ts";

for (const scene of LARGE_SCENES) {
  const name = JSON.stringify(scene);
  Deno.test(`The protocol of buckets keeps chunks whole: ${name}`, () => {
    assertEquals(explore(scene).failure, undefined);
  });
}
