/** The kinds of coordinate reference systems, compared with the database of PROJ. */
import { assert, assertEquals } from "@std/assert";
import { geoKeysOf } from "../../src/tiff/georeference.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { testWith } from "../support/tools.ts";
import { PYTHON, runScript } from "./python.ts";

/** The kind of a system by the key GTModelType of its GeoKeys. */
function kindOf(code: string): string | null {
  try {
    const { geoKeyDirectory } = geoKeysOf(`EPSG:${code}`);
    return geoKeyDirectory![7] === 1 ? "projected" : "geographic";
  } catch {
    return null;
  }
}

testWith(
  PYTHON,
  "geoKeysOf knows the codes that PROJ has of geographic and projected systems, and no others",
  (python) =>
    inTempDir(async (folder) => {
      const file = `${folder}/codes.json`;
      await runScript(python, "epsg_codes.py", file);
      const codes: Record<string, string | null> = JSON.parse(
        await Deno.readTextFile(file),
      );
      assert(Object.keys(codes).length > 6000, "PROJ has thousands of codes");
      const others = Object.entries(codes).filter(([code, kind]) =>
        kindOf(code) !== kind
      );
      assertEquals(others, []);
    }),
);
