import { assertEquals } from "@std/assert";
import { ConcatParts, concatStream, splitStream } from "../../mod.ts";
import { type Engine, openWasm } from "../../src/splitter/engines.ts";
import { crc32cBitByBit } from "../checksum/crc32c_oracle.ts";
import { noise } from "../checksum/noise.ts";

/** Counts the calls of each export of instances that are made while something runs. */
async function countCalls(
  run: () => Promise<unknown>,
): Promise<Map<string, number>> {
  const calls = new Map<string, number>();
  const { Instance } = WebAssembly;
  const held: Engine[] = [];
  // Idle instances were made before: they are taken, so that new ones are made.
  const plan = { sizes: [1], tail: 0, end: 1 };
  for (let i = 0; i < 10; i++) held.push(openWasm(plan));
  WebAssembly.Instance = class {
    readonly exports: WebAssembly.Exports;
    constructor(module: WebAssembly.Module) {
      const { exports } = new Instance(module);
      this.exports = Object.fromEntries(
        Object.entries(exports).map(([name, value]) => [
          name,
          typeof value !== "function" ? value : (...args: unknown[]) => {
            calls.set(name, (calls.get(name) ?? 0) + 1);
            return value(...args);
          },
        ]),
      );
    }
  } as typeof Instance;
  try {
    await run();
  } finally {
    WebAssembly.Instance = Instance;
    for (const engine of held) engine.release();
  }
  return calls;
}

for (const crc32c of ["none", "compute", "verify"] as const) {
  Deno.test(`the engine wasm asks the module for every cut and count, with crc32c ${crc32c}`, async () => {
    const parts = new ConcatParts([
      { keySuffix: ".head", size: 3 },
      { keySuffix: "" },
      { keySuffix: ".tail", size: 4 },
    ]);
    const data = noise(30);
    const checksum = new Uint8Array(4);
    new DataView(checksum.buffer).setUint32(0, crc32cBitByBit(data), true);
    const pieces = [0, 10, 20].map((start) => data.slice(start, start + 10));
    const chunk = [...pieces, checksum];
    const options = { engine: "wasm", crc32c } as const;
    const sums = crc32c !== "none";

    const splitting = await countCalls(() =>
      splitStream(
        ReadableStream.from(chunk),
        parts,
        () => new WritableStream(),
        options,
      )
    );
    assertEquals(
      ["begin", "start", "take", "finish"].map((name) => splitting.get(name)),
      [1, 1, 4, 1],
    );
    assertEquals((splitting.get("sum") ?? 0) > 0, sums);

    const stored: Record<string, Uint8Array[]> = {
      ".head": [data.slice(0, 3)],
      "": [data.slice(3, 9), data.slice(9)],
      ".tail": [checksum],
    };
    const joining = await countCalls(() =>
      Array.fromAsync(
        concatStream(
          parts,
          ({ keySuffix }) => ReadableStream.from(stored[keySuffix]!.slice()),
          options,
        ),
      )
    );
    assertEquals(
      ["begin", "start", "take", "endPart", "finish"].map((name) =>
        joining.get(name)
      ),
      [1, 1, 4, 3, 1],
    );
    assertEquals((joining.get("sum") ?? 0) > 0, sums);
  });
}
