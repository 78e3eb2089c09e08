import {
  compareFiles,
  compareWithNumbers,
  compareWithPools,
} from "./compared_reads.ts";

Deno.test("getSharded reads any array by threads as zarr.get does", () =>
  compareWithPools(15));

Deno.test("getSharded reads any array without threads, and by threads of one call, as zarr.get does", () =>
  compareWithNumbers(5));

Deno.test("getSharded reads any array from files by threads as zarr.get does", () =>
  compareFiles(4));
