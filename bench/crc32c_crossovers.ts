/**
 * Whether the kernel changes its ways at the right sizes: what `WASM_FROM` of
 * `src/checksum/engine.ts` and the limits in `wasm/crc32c.ts` rest on.
 */
import {
  type Engine,
  type EngineName,
  engineOf,
} from "../src/checksum/engine.ts";
import { type Contestant, medianTimes } from "./measure.ts";

const ROUNDS = 41;
const BYTES_PER_TURN = 4 * 1024 * 1024;
const NAMES = ["native", "wasm", "auto"] satisfies EngineName[];

/** Around WASM_FROM. */
const SMALL = [64, 128, 192, 224, 240, 256, 272, 320, 384, 512];
/** Vectors of 16 bytes up to each limit of the module, and from there on. */
const LIMITS = {
  "SHORT_FROM": [512, 640, 704, 736, 752, 768, 784, 832, 896, 1024],
  "SHORT_LIMIT": [24, 26, 28, 29, 30, 30.015625, 31, 32, 36, 40]
    .map((kib) => kib * 1024),
};

/** Prints how fast the engines are around the sizes at which they change. */
export function printCrossovers(): void {
  console.log(
    "\nWASM_FROM: `auto` is to be as fast as the faster one\n" +
      cells(["bytes", ...NAMES.map((name) => `${name} GB/s`)]),
  );
  const engines = NAMES.map(engineOf);
  const ordinary = new Uint8Array(1024 * 1024).fill(1);
  for (const size of SMALL) {
    const times = timesOf(engines, [size], ordinary);
    console.log(
      cells([size, ...times.map((time) => (size / time).toFixed(2))]),
    );
  }
  const windows = engineOf("wasm").windows();
  const window = windows.buffers[0]!.fill(1);
  for (const [limit, sizes] of Object.entries(LIMITS)) {
    const times = timesOf([engineOf("wasm")], sizes, window);
    console.log(
      `\n${limit}: the time is to rise evenly, in the module's own memory\n` +
        cells(["bytes", "ns", "GB/s"]),
    );
    for (const [i, size] of sizes.entries()) {
      const time = times[i]!;
      console.log(cells([size, time.toFixed(0), (size / time).toFixed(2)]));
    }
  }
  windows.release();
}

/** Nanoseconds for each size with each engine, by turns. */
function timesOf(
  engines: readonly Engine[],
  sizes: readonly number[],
  memory: Uint8Array,
): number[] {
  const passes = (size: number) => Math.ceil(BYTES_PER_TURN / size);
  const contestants = engines.flatMap((engine) =>
    sizes.map((size): Contestant => ({
      name: "",
      run() {
        const bytes = memory.subarray(0, size);
        let crc = 0;
        for (let pass = passes(size); pass > 0; pass--) {
          crc = engine.crc32c(bytes, crc);
        }
        // Sizes have different results; that they are right is for the tests.
        return crc < 0 ? 1 : 0;
      },
    }))
  );
  return medianTimes(contestants, ROUNDS).map((time, i) =>
    time * 1e6 / passes(sizes[i % sizes.length]!)
  );
}

function cells(values: readonly (string | number)[]): string {
  return values.map((value) => String(value).padStart(14)).join("");
}
