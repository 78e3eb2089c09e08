/** Arrays of xarray with missing elements, in TIFF files that GDAL reads. */
import { assertEquals } from "@std/assert";
import { runCli } from "../cli/run_cli.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { testWith } from "../support/tools.ts";
import { PYTHON, runScript } from "./python.ts";

testWith(
  PYTHON,
  "GDAL masks the elements of TIFF files that xarray masks in the arrays of Zarr v2 and v3",
  (python) =>
    inTempDir(async (folder) => {
      await runScript(python, "cf_attributes.py", "write", folder);
      for (const { name } of [...Deno.readDirSync(folder)]) {
        const { code, err } = await runCli(
          ...["convert", `${folder}/${name}`, `${folder}/tiffs/${name}`],
          ...["--container", "tiff", "--recode", "--suffix", ".tif"],
          ...["--only", "a"],
        );
        assertEquals([code, err], [0, ""], name);
      }
      await runScript(python, "cf_attributes.py", "compare", folder);
    }),
);
