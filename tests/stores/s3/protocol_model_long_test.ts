import { assert, assertEquals } from "@std/assert";
import { explore, LARGE_SCENES, MUTANTS, SCENES } from "./protocol_model.ts";

for (const scene of [...SCENES, ...LARGE_SCENES]) {
  const name = JSON.stringify(scene);
  Deno.test(`The protocol of buckets keeps chunks whole: ${name}`, () => {
    assertEquals(explore(scene).failure, undefined);
  });
}

Deno.test("The model of the protocol of buckets finds each step that is left out", () => {
  for (const mutant of MUTANTS) {
    const isFound = SCENES.some((scene) =>
      explore(scene, mutant).failure !== undefined
    );
    assert(isFound, mutant);
  }
});
