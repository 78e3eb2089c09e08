/** TIFF files that other programs wrote, adopted as arrays, and read by other programs. */
import { adoptTiffs, verifyAdopted } from "../../tiff.ts";
import { testWith } from "../support/tools.ts";
import { assertAdopted } from "./adopted_files.ts";
import { PYTHON } from "./python.ts";

testWith(
  PYTHON,
  "TIFF files of tifffile and GDAL are read as arrays with the same bits, by zarrita, over HTTP and by zarr-python",
  (python) =>
    assertAdopted(python, "make_tiffs.py", {
      adopt: adoptTiffs,
      verify: verifyAdopted,
      least: 304,
    }),
);
