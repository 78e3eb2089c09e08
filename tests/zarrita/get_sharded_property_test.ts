import { runs } from "../support/runs.ts";
import { compareWithPools } from "./compared_reads.ts";

Deno.test("getSharded reads any array by threads as zarr.get does", () =>
  compareWithPools(runs(60)));
