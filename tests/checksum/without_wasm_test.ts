import { assertEquals, assertStrictEquals } from "@std/assert";
import { fileURLToPath } from "node:url";
import { runOptions } from "../support/deno_program.ts";
import { deno } from "../../tools/deno.ts";
import { prefixCrcs } from "./crc32c_oracle.ts";
import { noise } from "./noise.ts";

const PROGRAM = fileURLToPath(import.meta.resolve("./without_wasm.ts"));

const crcs = prefixCrcs(noise(700_000));

/** The results of the program in Deno without permissions, where a piece of Wasm is lacking. */
async function printed(lacking: string) {
  const { code, output } = await deno(
    ["run", "--quiet", ...runOptions(), "--no-prompt", PROGRAM, lacking],
    { output: "piped" },
  );
  assertEquals(code, 0, output);
  // Anything else, such as a warning, is no JSON.
  return JSON.parse(output);
}

function assertChecksums(result: Awaited<ReturnType<typeof printed>>): void {
  const lengths = Object.keys(result.checksums);
  assertEquals(lengths, ["0", "9", "500", "5000", "50000", "700000"]);
  for (const length of lengths) {
    const expected = Array(5).fill(crcs[Number(length)]);
    assertEquals(result.checksums[length], expected, `${length} bytes`);
  }
}

for (
  const lacking of ["SIMD", "permission to compile", "memory", "WebAssembly"]
) {
  Deno.test(`crc32c and all engines are native where ${lacking} is lacking, and print nothing`, async () => {
    const result = await printed(lacking);
    assertStrictEquals(result.hasWasmChecksum, false);
    assertEquals(result.engines, ["NativeEngine"]);
    assertChecksums(result);
  });
}

Deno.test("crc32c and the engine wasm use Wasm where nothing is lacking, without any permission", async () => {
  const result = await printed("nothing");
  assertStrictEquals(result.hasWasmChecksum, true);
  assertEquals(result.engines, ["NativeEngine", "WasmEngine"]);
  assertChecksums(result);
});
