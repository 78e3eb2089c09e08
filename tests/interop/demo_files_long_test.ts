/** The TIFF files of the demo, read by other programs. */
import { assertEquals } from "@std/assert";
import { fileURLToPath } from "node:url";
import { FileSystemStore } from "../../mod.ts";
import { readPicture, runDemo } from "../../tools/demo/run_demo.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { testWith } from "../support/tools.ts";
import { assertRead, type ExpectedTiff, TIFF_TOOLS } from "./tiff_readers.ts";

const SOURCE = fileURLToPath(import.meta.resolve("../fixtures/dem.zarr"));

/** The western and the northern edge of the elevation model in degrees, and the size of a point. */
const [WEST, NORTH, DEGREES] = [-84.41375, 36.73291666666667, 1 / 1200];

testWith(
  TIFF_TOOLS,
  "tifffile, GDAL and libtiff find all elements and the place of the demo's TIFF files",
  (python) =>
    inTempDir(async (folder) => {
      const { elevations, colours } = await runDemo(SOURCE, folder);
      const dem = await readPicture(new FileSystemStore(SOURCE));
      const relief = await readPicture(
        new FileSystemStore(`${folder}/relief.zarr`),
      );
      const expected: ExpectedTiff[] = [];
      for (
        const [files, picture, tags] of [
          [elevations, dem, { GDAL_NODATA: "-32768", Compression: 8 }],
          [colours, relief, { PhotometricInterpretation: 2, Compression: 8 }],
        ] as const
      ) {
        const [, columns, samples = 1] = picture.shape as [
          number,
          number,
          number?,
        ];
        for (const { path, width, height } of files) {
          const [, row, column] = /c\/(\d)\/(\d)(?:\/0)?\.tiff$/.exec(path)!
            .map(Number) as [number, number, number];
          const elements =
            new (picture.elements.constructor as Int16ArrayConstructor)(
              width * height * samples,
            );
          for (let y = 0; y < height; y++) {
            const start = ((192 * row + y) * columns + 256 * column) * samples;
            const line = picture.elements.subarray(
              start,
              start + width * samples,
            );
            elements.set(line, y * width * samples);
          }
          await Deno.writeFile(`${path}.raw`, new Uint8Array(elements.buffer));
          expected.push({
            name: path,
            path,
            elements: `${path}.raw`,
            shape: [height, width, ...picture.shape.slice(2)],
            dtype: picture === dem ? "<i2" : "<u1",
            readers: ["tifffile", "GDAL", "libtiff"],
            ...picture === relief && { bands: "last" },
            tags,
            transform: [
              DEGREES,
              0,
              WEST + 256 * column * DEGREES,
              0,
              -DEGREES,
              NORTH - 192 * row * DEGREES,
            ],
            epsg: 4326,
          });
        }
      }
      assertEquals(expected.length, 8);
      await assertRead(python, folder, expected);
    }),
);
