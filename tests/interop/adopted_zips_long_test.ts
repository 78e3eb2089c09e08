/** Zip files that other programs wrote, adopted as arrays, and read by other programs. */
import { adoptZip, verifyAdoptedZip } from "../../zip.ts";
import { testWith } from "../support/tools.ts";
import { assertAdopted } from "./adopted_files.ts";
import { ZIP_TOOLS } from "./zip_tools.ts";

testWith(
  ZIP_TOOLS,
  "zip files of zarr-python, zipfile and Info-ZIP are read as arrays with the same bits, by zarrita, over HTTP and by zarr-python",
  (python) =>
    assertAdopted(python, "make_zips.py", {
      adopt: adoptZip,
      verify: verifyAdoptedZip,
      least: 32,
    }),
);
