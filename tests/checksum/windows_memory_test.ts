import { assertEquals } from "@std/assert";
import { engineOf } from "../../src/checksum/engine.ts";
import { WasmInstance } from "../../src/checksum/wasm_instance.ts";

/** For each of `count` windows in use at once, whether they are in the module's memory. */
function areOfModule(count: number): boolean[] {
  const windows = Array.from({ length: count }, engineOf("wasm").windows);
  const are = windows.map(({ buffers }) =>
    WasmInstance.ofMemory(buffers[0]!) !== undefined
  );
  for (const each of windows) each.release();
  return are;
}

Deno.test("Windows.buffers are plain while no memory is left, and the module's afterwards", () => {
  engineOf("wasm");
  const { Instance } = WebAssembly;
  try {
    Object.assign(WebAssembly, {
      Instance: class {
        constructor() {
          throw new RangeError("Out of memory");
        }
      },
    });
    assertEquals(areOfModule(20), Array(20).fill(false));
  } finally {
    Object.assign(WebAssembly, { Instance });
  }
  // What failed does not count.
  assertEquals(areOfModule(8), Array(8).fill(true));
});
