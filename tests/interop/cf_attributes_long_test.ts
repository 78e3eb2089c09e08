/** Missing elements, scales, units and names, from arrays of xarray to TIFF files of GDAL and back. */
import { assertEquals } from "@std/assert";
import { runCli } from "../cli/run_cli.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { testWith } from "../support/tools.ts";
import { PYTHON, runScript } from "./python.ts";

testWith(
  PYTHON,
  "GDAL finds the missing elements, scales, units and names in TIFF files that xarray has in arrays of Zarr v2 and v3",
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

testWith(
  PYTHON,
  "xarray finds the missing elements, scales, units and names in adopted TIFF files that rioxarray finds in the files",
  (python) =>
    inTempDir(async (folder) => {
      await runScript(python, "cf_attributes.py", "adopt", folder);
      for (const { name: file } of [...Deno.readDirSync(`${folder}/files`)]) {
        const name = file.replace(".tif", "");
        const array = `${folder}/arrays/${name}.zarr`;
        // xarray reads arrays in groups.
        const group = `${folder}/plain/${name}.zarr`;
        for (
          const args of [
            ["adopt", `${folder}/files/${file}`, "--link", "--into", array],
            ["convert", array, `${group}/data`, "--plain"],
          ]
        ) {
          const { code, err } = await runCli(...args);
          assertEquals([code, err], [0, ""], name);
        }
        const document = JSON.stringify({ zarr_format: 3, node_type: "group" });
        await Deno.writeTextFile(`${group}/zarr.json`, document);
      }
      await runScript(python, "cf_attributes.py", "adopted", folder);
    }),
);
