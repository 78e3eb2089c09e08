/** Arrays in parts without a suffix, which zarr-python misreads through groups. */
import { testWith } from "../support/tools.ts";
import { PYTHON, runScript } from "./python.ts";

testWith(
  PYTHON,
  "zarr-python reads arrays in parts as fill values through groups, and refuses them elsewhere, as docs/serving.md says",
  (python) => runScript(python, "storage_transformers.py"),
);
