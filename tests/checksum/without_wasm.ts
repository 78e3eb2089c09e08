/**
 * What the kernel does where a runtime lacks something of Wasm, which is named
 * as the only argument: run by `without_wasm_test.ts`. Prints what came of it.
 */
import { noise } from "./noise.ts";

/** Takes it away from this runtime, as far as the kernel can see. */
const LACKS: Record<string, () => void> = {
  "nothing": () => {},
  "SIMD": () => {
    WebAssembly.validate = () => false;
  },
  "permission to compile": () => {
    Object.assign(WebAssembly, {
      Module: class {
        constructor() {
          throw new WebAssembly.CompileError("Refused by the page's policy");
        }
      },
    });
  },
  "memory": () => {
    Object.assign(WebAssembly, {
      Instance: class {
        constructor() {
          throw new RangeError("Out of memory");
        }
      },
    });
  },
  "WebAssembly": () => {
    Reflect.deleteProperty(globalThis, "WebAssembly");
  },
};

LACKS[Deno.args[0]!]!();

// The kernel looks for Wasm when it is loaded, or later.
const { crc32c, Crc32c } = await import("../../src/checksum/crc32c.ts");
const { engineOf } = await import("../../src/checksum/engine.ts");

const bytes = noise(700_000);
const native = engineOf("native");
const checksums: Record<string, number[]> = {};
for (const length of [0, 9, 500, 5000, 50_000, 700_000]) {
  const piece = bytes.subarray(0, length);
  checksums[length] = [
    crc32c(piece),
    new Crc32c().update(piece).digest(),
    ...(["native", "wasm", "auto"] as const).map((name) =>
      engineOf(name).crc32c(piece, 0)
    ),
  ];
}
const windows = engineOf("auto").windows();
for (const window of windows.buffers) window.set(bytes.subarray(0, 5000));
const inWindows = windows.buffers.map((window) =>
  engineOf("auto").crc32c(window.subarray(0, 5000), 0)
);
const memories = new Set(windows.buffers.map(({ buffer }) => buffer)).size;
windows.release();

console.log(JSON.stringify({
  allNative: engineOf("auto") === native && engineOf("wasm") === native,
  memories,
  checksums,
  inWindows,
}));
