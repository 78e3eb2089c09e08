import { assert, assertEquals } from "@std/assert";
import { explore, MUTANTS, SCENES } from "./protocol_model.ts";

Deno.test("The protocol of buckets keeps chunks whole in all orders of requests", () => {
  for (const scene of SCENES) {
    assertEquals(explore(scene).failure, undefined, JSON.stringify(scene));
  }
});

Deno.test("The model of the protocol of buckets finds each step that is left out", () => {
  for (const mutant of MUTANTS) {
    const isFound = SCENES.some((scene) =>
      explore(scene, mutant).failure !== undefined
    );
    assert(isFound, mutant);
  }
});
