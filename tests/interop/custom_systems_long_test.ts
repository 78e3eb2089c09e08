/** Coordinate reference systems without a code, in TIFFs that GDAL reads. */
import { assert, assertEquals } from "@std/assert";
import {
  arrayMetadata,
  encodeShard,
  FileSystemStore,
  parseShardLayout,
  type ShardContainer,
} from "../../mod.ts";
import { adoptTiffs, tiffContainer } from "../../tiff.ts";
import { runCli } from "../cli/run_cli.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { testWith } from "../support/tools.ts";
import { PYTHON, runScript } from "./python.ts";

testWith(
  PYTHON,
  "GDAL finds the ellipsoids and projections of systems without a code, in all notations",
  (python) =>
    inTempDir(async (folder) => {
      await runScript(python, "custom_systems.py", folder);
      const systems: { definition: string; system: string }[] = JSON.parse(
        await Deno.readTextFile(`${folder}/systems.json`),
      );
      assert(systems.length > 40, `${systems.length} systems`);
      const metadata = arrayMetadata({
        shape: [16, 16],
        dataType: "uint8",
        shardShape: [16, 16],
        chunkShape: [16, 16],
      });
      const layout = parseShardLayout(metadata.codecs[0], [16, 16]);
      const refused: string[] = [];
      for (const [i, { definition, system }] of systems.entries()) {
        const georeference = { bbox: [0, 0, 10, 10], crs: system };
        let container: ShardContainer;
        try {
          container = tiffContainer(metadata, { georeference })([0, 0]);
        } catch (error) {
          refused.push(`${definition}: ${JSON.stringify(system)}: ${error}`);
          continue;
        }
        const tiff = encodeShard([new Uint8Array(256)], layout, { container });
        await Deno.writeFile(`${folder}/${i}.tif`, tiff);
      }
      assertEquals(refused, []);
      await runScript(python, "custom_systems.py", folder);
    }),
);

testWith(
  PYTHON,
  "adoptTiffs gives files of GDAL the well-known text of their system, and none where the keys leave a doubt",
  (python) =>
    inTempDir(async (folder) => {
      await runScript(python, "custom_systems.py", folder, "write");
      for (const { name } of [...Deno.readDirSync(folder)]) {
        const store = new FileSystemStore(`${folder}/${name}`);
        const { chunks, report } = await adoptTiffs(store, "", {
          chunkKeyEncoding: {
            name: "template",
            configuration: { format: "{0}_{1}.tif" },
          },
        });
        const { attributes } = chunks.metadata;
        assertEquals(report.notes.length, "proj:wkt2" in attributes! ? 0 : 1);
        assert("geotiff" in attributes! && "spatial:transform" in attributes);
      }
      await runScript(python, "custom_systems.py", folder, "adopted");
    }),
);

testWith(
  PYTHON,
  "GDAL finds the systems of grid mappings of CF without well-known text",
  (python) =>
    inTempDir(async (folder) => {
      await runScript(python, "custom_systems.py", folder, "grids");
      for (const { name } of [...Deno.readDirSync(folder)]) {
        const { code, err } = await runCli(
          ...["convert", `${folder}/${name}`, `${folder}/tiffs/${name}`],
          ...["--container", "tiff", "--recode", "--suffix", ".tif"],
          ...["--only", "a"],
        );
        assertEquals([code, err], [0, ""], name);
      }
      await runScript(python, "custom_systems.py", folder, "mapped");
    }),
);
