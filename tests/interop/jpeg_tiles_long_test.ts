/** JPEG tiles of TIFFs that other programs write, read by `imagecodecs_jpeg`. */
import { assert, assertEquals } from "@std/assert";
import * as zarr from "zarrita";
import { registerCodecs } from "../../zarrita.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { testWith } from "../support/tools.ts";
import { PYTHON, runScript } from "./python.ts";

registerCodecs(zarr);

interface Tile {
  readonly name: string;
  readonly configuration: unknown;
  readonly shape: number[];
  readonly tile: string;
  readonly decoded: string;
}

testWith(
  PYTHON,
  "zarrita reads the JPEG tiles of GDAL and tifffile as imagecodecs does",
  async (python) => {
    await inTempDir(async (folder) => {
      await runScript(python, "jpeg_tiles.py", folder);
      const text = await Deno.readTextFile(`${folder}/tiles.json`);
      const tiles = JSON.parse(text) as Tile[];
      assert(tiles.length > 200, `${tiles.length} tiles were written`);
      for (const { name, configuration, shape, tile, decoded } of tiles) {
        const key = `/c/${shape.map(() => 0).join("/")}`;
        const store = new Map([[key, Uint8Array.fromBase64(tile)]]);
        const array = await zarr.create(store, {
          shape,
          chunkShape: shape,
          dtype: "uint8",
          fillValue: 0,
          codecs: [{ name: "imagecodecs_jpeg", configuration }] as never,
        });
        const { data } = await zarr.get(array);
        assertEquals(data, Uint8Array.fromBase64(decoded), name);
      }
    });
  },
);
