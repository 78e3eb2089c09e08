/** Missing elements that xarray finds in arrays of Zarr v2, in Zarr v3. */
import { assertEquals } from "@std/assert";
import { runCli } from "../cli/run_cli.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { testWith } from "../support/tools.ts";
import { PYTHON, runScript } from "./python.ts";

testWith(
  PYTHON,
  "xarray finds the missing elements of Zarr v2 in arrays that were converted or migrated",
  (python) =>
    inTempDir(async (folder) => {
      const [old, converted] = [`${folder}/old`, `${folder}/converted`];
      await Deno.mkdir(old);
      await runScript(python, "xarray_masks.py", "write", old);
      const names = [...Deno.readDirSync(old)].map(({ name }) => name);
      for (const name of names) {
        const args = [`${old}/${name}`, `${converted}/${name}`, "--plain"];
        const { code, err } = await runCli("convert", ...args);
        assertEquals([code, err], [0, ""], name);
      }
      await runScript(python, "xarray_masks.py", "compare", old, converted);
      for (const name of names) {
        const { code, err } = await runCli("migrate", `${old}/${name}`);
        assertEquals([code, err], [0, ""], name);
      }
      await runScript(python, "xarray_masks.py", "compare", old, old);
    }),
);
