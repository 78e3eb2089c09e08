import { assertStrictEquals, assertThrows } from "@std/assert";
import { type EngineName, engineOf } from "../../src/checksum/engine.ts";
import { WasmInstance } from "../../src/checksum/wasm_instance.ts";
import { ENGINES } from "./checksum_ways.ts";

Deno.test("engineOf gives the same engine each time", () => {
  for (const name of ENGINES) {
    assertStrictEquals(engineOf(name), engineOf(name));
  }
});

for (
  const wrong of ["", "Wasm", "none", "toString", "__proto__", undefined, 1]
) {
  Deno.test(`engineOf refuses ${JSON.stringify(wrong)}`, () => {
    assertThrows(
      () => engineOf(wrong as EngineName),
      RangeError,
      `Expected engine "auto", "native" or "wasm", found ${
        JSON.stringify(wrong)
      }`,
    );
  });
}

Deno.test("Engine.windows of native is JavaScript's memory, of wasm and auto the module's", () => {
  for (const name of ENGINES) {
    const { buffers, release } = engineOf(name).windows();
    for (const buffer of buffers) {
      const isOfModule = WasmInstance.ofMemory(buffer) !== undefined;
      assertStrictEquals(isOfModule, name !== "native", name);
    }
    release();
  }
});
