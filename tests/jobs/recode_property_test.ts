import { MemoryStore } from "../../mod.ts";
import { convert } from "../../jobs.ts";
import { ThreadPool } from "../../zarrita.ts";
import { runs } from "../support/runs.ts";
import { recodedCases } from "./recode_arbitraries.ts";
import { readPlain, storePlain } from "./recode_oracle.ts";
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";

for (const [where, numRuns] of [["", 150], [" in threads", 60]] as const) {
  Deno.test(`convert recodes any array to any encoding, in any memory${where}`, async () => {
    using pool = new ThreadPool({ threads: 2 });
    const threads = where === "" ? 0 : pool;
    await fc.assert(
      fc.asyncProperty(
        recodedCases,
        fc.constantFrom(1, 100, 1000, 10_000, undefined),
        async ({ array, recode, leavesOut }, memory) => {
          const source = await storePlain(array, { leavesOut });
          const target = new MemoryStore();
          const { arrays: [converted], total, copied, absent, isFinished } =
            await convert(source, target, { recode, memory, threads });
          assert(isFinished);
          const { metadata, recoded } = converted!;
          const read = await readPlain(target, metadata, array);
          assertEquals(read.elements, array.elements);
          if (recoded === undefined) return;
          assertEquals(copied + absent, total);
          assertEquals(recoded.chunks, total);
          if (recoded.decodes > 0 || leavesOut) assertEquals(read.pointless, 0);
        },
      ),
      { numRuns: runs(numRuns) },
    );
  });
}
