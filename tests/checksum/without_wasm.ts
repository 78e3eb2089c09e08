/**
 * Computes checksums and splits chunks where a runtime lacks a piece of Wasm, named
 * by the only argument: run by `without_wasm_test.ts`. Prints the results.
 */
import { noise } from "./noise.ts";

/** Takes the piece away from this runtime. */
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

// The package looks for Wasm when it is loaded, or later.
const { crc32c, Crc32c } = await import("../../src/checksum/crc32c.ts");
const { WasmCrc32c } = await import("../../src/checksum/wasm_crc32c.ts");
const { openerOf } = await import("../../src/splitter/engines.ts");

const bytes = noise(700_000);
const checksums: Record<string, number[]> = {};
const engines = new Set<string>();
for (const length of [0, 9, 500, 5000, 50_000, 700_000]) {
  const piece = bytes.subarray(0, length);
  checksums[length] = [
    crc32c(piece),
    new Crc32c().update(piece).digest(),
    ...(["native", "wasm", "auto"] as const).map((name) => {
      const engine = openerOf(name, true)({
        sizes: [Infinity],
        tail: 0,
        end: Infinity,
      });
      engines.add(engine.constructor.name);
      engine.take(piece.length);
      engine.sum(0, piece);
      engine.finish();
      const [checksum] = engine.checksums();
      engine.release();
      return checksum!;
    }),
  ];
}

console.log(JSON.stringify({
  hasWasmChecksum: WasmCrc32c.open() !== undefined,
  engines: Array.from(engines).sort(),
  checksums,
}));
