import { assertEquals } from "@std/assert";
import { fileURLToPath } from "node:url";
import { runOptions } from "../support/deno_program.ts";
import { registry, writable } from "./typed_uses.ts";

/** Lets the compiler check a file, whether or not this test itself was checked. */
async function check(file: string): Promise<string> {
  const options = runOptions().filter((option) => option !== "--no-check");
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["check", "--quiet", ...options, file],
    env: { NO_COLOR: "1" },
  }).output();
  return code === 0 ? "" : new TextDecoder().decode(stderr);
}

Deno.test("withZarrParts returns stores of the types that zarrita accepts", async () => {
  const file = fileURLToPath(import.meta.resolve("./typed_uses.ts"));
  assertEquals(await check(file), "");
  assertEquals(typeof registry.get("bytes"), "function");
  for (const make of Object.values(writable)) {
    assertEquals(typeof make().set, "function");
  }
});
