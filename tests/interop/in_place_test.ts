/** Other programs, which read an array while it is converted in place. */
import { FileSystemStore } from "../../mod.ts";
import { runInPlace } from "../../src/jobs/in_place/convert_in_place.ts";
import { convert } from "../../src/jobs/mod.ts";
import { placeOf } from "../../src/jobs/hierarchy/node_location.ts";
import { DisturbedFiles } from "../jobs/in_place_support.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { testWith } from "../support/tools.ts";
import { PYTHON, runScript } from "./python.ts";

const DEM = "tests/fixtures/dem.zarr";
const PARTS = { parts: ["", ".index"] };
const PLAIN = { keyEncoding: "v2", parts: [] };

testWith(
  PYTHON,
  "in place, zarr-python and TensorStore read right elements or none in every state",
  async (python) => {
    await inTempDir(async (folder) => {
      const states = `${folder}/states`;
      for (const [from, to] of [[PLAIN, PARTS], [PARTS, PLAIN]] as const) {
        for (let at = 0, isKilled = true; isKilled; at += 5) {
          const name = `${states}/${to === PARTS ? "cut" : "joined"}-${at}`;
          const store = new FileSystemStore(name);
          await convert(new FileSystemStore(DEM), store, from);
          const disturbance = { at, kind: "kill" } as const;
          const disturbed = new DisturbedFiles(store, disturbance);
          const options = { ...to, concurrency: 1 };
          isKilled = await runInPlace(placeOf(store), disturbed.files, options)
            .then(() => false, () => true);
          await disturbed.end();
        }
      }
      await runScript(python, "read_in_place.py", DEM, states);
    });
  },
);
