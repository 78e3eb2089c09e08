/** Arrays of any encoding that the command line stores in shards that are TIFF or zip files, read by other programs. */
import { assertEquals } from "@std/assert";
import { runCli } from "../cli/run_cli.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { testWith } from "../support/tools.ts";
import { PYTHON, runScript } from "./python.ts";

testWith(
  PYTHON,
  "zarr-python, tifffile, GDAL and rio-cogeo read the arrays that convert encodes anew for TIFF, in their places, as does Bio-Formats if it is installed",
  (python) =>
    inTempDir(async (folder) => {
      await runScript(python, "make_any_arrays.py", folder);
      const cases: { path: string; options: string[] }[] = JSON.parse(
        await Deno.readTextFile(`${folder}/cases.json`),
      );
      for (const [i, { path, options }] of cases.entries()) {
        // The index after the TIFF, or in a file of its own.
        const parts = i % 2 === 0 ? [] : ["--parts", ",.index"];
        const tiffs = `${folder}/tiffs/${path}`;
        for (
          const args of [
            [
              ...[`${folder}/${path}`, tiffs, "--container", "tiff"],
              ...["--recode", "--suffix", ".tif", "--overwrite"],
              ...[...parts, ...options],
            ],
            [
              ...[tiffs, `${folder}/plain/${path}`, "--plain"],
              ...["--overwrite", "--quiet"],
            ],
          ]
        ) {
          const { code, err } = await runCli("convert", ...args);
          assertEquals([code, err], [0, ""], args.join(" "));
        }
      }
      await runScript(python, "read_recoded_tiffs.py", folder);
    }),
);

testWith(
  PYTHON,
  "zarr-python and zipfile read the arrays that convert encodes anew for zip files",
  (python) =>
    inTempDir(async (folder) => {
      await runScript(python, "make_any_arrays.py", folder);
      const cases: { path: string }[] = JSON.parse(
        await Deno.readTextFile(`${folder}/cases.json`),
      );
      for (const { path } of cases) {
        const { code, err } = await runCli(
          ...["convert", `${folder}/${path}`, `${folder}/zips/${path}`],
          ...["--container", "zip", "--recode", "--overwrite"],
        );
        assertEquals([code, err], [0, ""], path);
      }
      await runScript(python, "read_recoded_zips.py", folder);
    }),
);
