/**
 * All interleavings of processes that run the code of the file store, with a kill before
 * each operation. `ZARR_PARTS_LONG_TESTS=1` adds larger scenarios, which take minutes.
 */
import { assertEquals } from "@std/assert";
import { exploreLine, SCENARIOS } from "./scenarios.ts";
import { withSimulatedNames } from "./simulated_process.ts";

const isLong = Deno.env.get("ZARR_PARTS_LONG_TESTS") === "1";

for (const line of SCENARIOS) {
  Deno.test({
    name: `FileGroup keeps a chunk whole in all interleavings: ${line.name}`,
    ignore: line.isLong && !isLong,
    async fn() {
      const { states, steps, problem, trace } = await withSimulatedNames(() =>
        exploreLine(line)
      );
      assertEquals(problem, undefined, `${problem}\n${trace?.join("\n")}`);
      console.log(`${states} states, ${steps} steps`);
    },
  });
}
