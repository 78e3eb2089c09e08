import { assert, assertStrictEquals, assertThrows } from "@std/assert";
import {
  compileModule,
  WasmInstance,
} from "../../src/checksum/wasm_instance.ts";
import { crc32cBitByBit } from "./crc32c_oracle.ts";
import { noise } from "./noise.ts";

/** What compiling gives while something of `WebAssembly` is replaced. */
function compileWith(
  replaced: { Module?: unknown; validate?: unknown },
): WebAssembly.Module | undefined {
  const { Module, validate } = WebAssembly;
  try {
    Object.assign(WebAssembly, replaced);
    return compileModule();
  } finally {
    Object.assign(WebAssembly, { Module, validate });
  }
}

Deno.test("compileModule gives nothing while it cannot compile, then the same module each time", () => {
  const refused = class {
    constructor() {
      throw new WebAssembly.CompileError("Refused by the page's policy");
    }
  };
  assertStrictEquals(compileWith({ validate: () => false }), undefined);
  assertStrictEquals(compileWith({ Module: refused }), undefined);
  const module = compileModule();
  assert(module instanceof WebAssembly.Module);
  assertStrictEquals(compileModule(), module);
});

for (const size of [16, 65_520, 65_536, 65_552, 1_000_000]) {
  Deno.test(`WasmInstance with an input of ${size} bytes has room for them, and takes more in pieces`, () => {
    const instance = new WasmInstance(compileModule()!, size);
    assertStrictEquals(instance.input.length, size);
    for (const length of [size - 1, size, size + 1, 3 * size, 3 * size + 7]) {
      const bytes = noise(length);
      const expected = crc32cBitByBit(bytes);
      assertStrictEquals(instance.crc32c(bytes, 0), expected, `${length}`);
      if (length > size) continue;
      const inPlace = instance.input.subarray(size - length);
      inPlace.set(bytes);
      assertStrictEquals(instance.crc32c(inPlace, 0), expected, `${length}`);
    }
  });
}

Deno.test("WasmInstance with an input larger than any memory is refused", () => {
  const module = compileModule()!;
  assertThrows(() => new WasmInstance(module, 2 ** 32), RangeError);
});
