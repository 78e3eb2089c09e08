import {
  compareFiles,
  compareWithNumbers,
  compareWithPools,
} from "./compared_reads.ts";

Deno.test("getSharded reads many arrays by threads as zarr.get does", () =>
  compareWithPools(600));

Deno.test("getSharded reads many arrays without threads, and by threads of one call, as zarr.get does", () =>
  compareWithNumbers(150));

Deno.test("getSharded reads many arrays from files by threads as zarr.get does", () =>
  compareFiles(60));
