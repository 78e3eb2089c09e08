import { assertEquals, assertStrictEquals } from "@std/assert";
import { fileURLToPath } from "node:url";
import { deno } from "../../tools/deno.ts";
import { prefixCrcs } from "./crc32c_oracle.ts";
import { noise } from "./noise.ts";

const PROGRAM = fileURLToPath(import.meta.resolve("./without_wasm.ts"));

const crcs = prefixCrcs(noise(700_000));

/** What the program prints in Deno without permissions where that is lacking. */
async function printed(lacking: string) {
  // It imports nothing that the configuration names, so it needs no network.
  const { code, output } = await deno(
    ["run", "--quiet", "--no-config", "--no-prompt", PROGRAM, lacking],
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
  assertEquals(result.inWindows, Array(4).fill(crcs[5000]));
}

for (
  const lacking of ["SIMD", "permission to compile", "memory", "WebAssembly"]
) {
  Deno.test(`engineOf gives the native engine for all where ${lacking} is lacking, and says nothing`, async () => {
    const result = await printed(lacking);
    assertStrictEquals(result.allNative, true);
    assertStrictEquals(result.memories, result.inWindows.length);
    assertChecksums(result);
  });
}

Deno.test("engineOf gives the Wasm engine where nothing is lacking, without any permission", async () => {
  const result = await printed("nothing");
  assertStrictEquals(result.allNative, false);
  // All windows are in the memory of one instance.
  assertStrictEquals(result.memories, 1);
  assertChecksums(result);
});
