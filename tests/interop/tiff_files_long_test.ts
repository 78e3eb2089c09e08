/** Shards that are TIFF files, read by other programs. */
import { assert, assertEquals } from "@std/assert";
import * as zarr from "zarrita";
import { createArrayChunks, FileSystemStore } from "../../mod.ts";
import { tiffContainer } from "../../tiff.ts";
import { registerCodecs, setSharded, withZarrParts } from "../../zarrita.ts";
import { storeTiffs } from "../tiff/store_tiffs.ts";
import {
  caseOf,
  TIFF_CASES,
  type TiffCase,
  WRITTEN_CASES,
} from "../tiff/tiff_cases.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { testWith } from "../support/tools.ts";
import { assertRead, type ExpectedTiff, TIFF_TOOLS } from "./tiff_readers.ts";

registerCodecs(zarr);

/** Stores an array, and says what each of its shards holds. */
async function stored(
  folder: string,
  path: string,
  tiffCase: TiffCase,
): Promise<ExpectedTiff[]> {
  const store = new FileSystemStore(folder);
  const { metadata, options, name } = tiffCase;
  const { chunks, shards } = await storeTiffs(store, path, tiffCase);
  const found: ExpectedTiff[] = [];
  for (const [n, { shard, shape, elements }] of shards.entries()) {
    const raw = `${folder}/${path}-${n}.raw`;
    await Deno.writeFile(raw, elements);
    found.push({
      name: `${name}, shard ${shard}`,
      path: folder + chunks.key(shard),
      elements: raw,
      shape,
      dtype: dtypeOf(metadata.data_type as string),
      // Sparse tiles are an extension of GDAL.
      readers: ["tifffile", "GDAL", ...options.sparse ? [] : ["libtiff"]],
      ...options.bands && { bands: options.bands },
    });
  }
  return found;
}

function dtypeOf(dataType: string): string {
  if (dataType === "bool") return "<u1";
  const [, kind, bits] = /^(u?int|float|complex)(\d+)$/.exec(dataType)!;
  return `<${kind![0]}${Number(bits) / 8}`;
}

testWith(
  TIFF_TOOLS,
  "tifffile, GDAL and libtiff read every shard of tiffContainer",
  (python) =>
    inTempDir(async (folder) => {
      const expected: ExpectedTiff[] = [];
      for (const [i, tiffCase] of TIFF_CASES.entries()) {
        expected.push(...await stored(folder, `${i}`, tiffCase));
      }
      assert(expected.length > 300, `${expected.length} files were written`);
      await assertRead(python, folder, expected);
    }),
);

testWith(
  TIFF_TOOLS,
  "tifffile, GDAL and libtiff read every shard that setSharded writes with the codecs of TIFF",
  (python) =>
    inTempDir(async (folder) => {
      const expected: ExpectedTiff[] = [];
      for (const [i, tiffCase] of WRITTEN_CASES.entries()) {
        const files = await stored(folder, `${i}`, tiffCase);
        expected.push(files[0]!, files.at(-1)!); // A whole one, and a ragged one.
      }
      assert(expected.length > 300, `${expected.length} files were written`);
      await assertRead(python, folder, expected);
    }),
);

testWith(
  TIFF_TOOLS,
  "GDAL puts every shard of tiffContainer in its place",
  (python) =>
    inTempDir(async (folder) => {
      const tiffCase = caseOf({
        name: "UTM zone 32N",
        options: {
          georeference: {
            modelPixelScale: [30, 20, 0],
            modelTiepoint: [0, 0, 0, 399960, 5300040, 0],
            // deno-fmt-ignore
            geoKeyDirectory: [1, 1, 0, 3, 1024, 0, 1, 1, 1025, 0, 1, 1, 3072, 0, 1, 32632],
          },
        },
      });
      const shards = await stored(folder, "placed", tiffCase);
      const origins = [[0, 0], [0, 64], [64, 0], [64, 64]];
      assertEquals(shards.length, origins.length);
      const expected = shards.map((shard, i): ExpectedTiff => {
        const [row, column] = origins[i]!;
        const [x, y] = [399960 + 30 * column!, 5300040 - 20 * row!];
        return { ...shard, transform: [30, 0, x, 0, -20, y], epsg: 32632 };
      });
      await assertRead(python, folder, expected);
    }),
);

testWith(
  TIFF_TOOLS,
  "tifffile finds description, resolution, colors and missing data",
  (python) =>
    inTempDir(async (folder) => {
      const described = await stored(
        folder,
        "described",
        caseOf({
          dataType: "float32",
          options: {
            description: "Höhe in m",
            resolution: { x: 300.25, y: 1 / 3, unit: "centimeter" },
            noData: -9999.5,
          },
        }),
      );
      const rgb = await stored(
        folder,
        "colors",
        caseOf({
          dataType: "uint8",
          shape: [40, 40, 4],
          shardShape: [32, 32, 4],
          chunkShape: [16, 16, 4],
          options: { bands: "last", colors: "rgb" },
        }),
      );
      const sparse = await stored(
        folder,
        "sparse",
        caseOf({
          dataType: "int64",
          fillValue: -3,
          hasAbsent: true,
          options: { sparse: true },
        }),
      );
      const tags = {
        ImageDescription: "Höhe in m",
        XResolution: [1201, 4],
        YResolution: [1, 3],
        ResolutionUnit: 3,
        GDAL_NODATA: "-9999.5",
      };
      await assertRead(python, folder, [
        ...described.map((shard) => ({ ...shard, tags })),
        ...rgb.map((shard) => ({
          ...shard,
          tags: { PhotometricInterpretation: 2, ExtraSamples: [2] },
        })),
        ...sparse.map((shard) => ({ ...shard, tags: { GDAL_NODATA: "-3" } })),
      ]);
    }),
);

testWith(
  TIFF_TOOLS,
  "zarr-python, tifffile and zarrita read the same elements of TIFF shards with their index at the end",
  (python) =>
    inTempDir(async (folder) => {
      const store = new FileSystemStore(folder);
      const expected: ExpectedTiff[] = [];
      for (const compression of ["none", "zstd", "deflate"]) {
        for (const directory of ["start", "end"] as const) {
          for (const dataType of ["uint8", "uint16", "float32"]) {
            const path = `${compression}-${directory}-${dataType}`;
            const name = path;
            const options = { directory };
            const { metadata } = caseOf({
              name,
              dataType,
              compression,
              isBeside: false,
            });
            const chunks = await createArrayChunks(store, path, metadata);
            const root = zarr.root(withZarrParts(store)).resolve(path);
            const array = await zarr.open(root, { kind: "array" });
            const Elements = {
              uint8: Uint8Array,
              uint16: Uint16Array,
              float32: Float32Array,
            }[dataType]!;
            const data = new Elements(
              Array.from({ length: 7000 }, (_, i) => i * i % 251),
            );
            const container = tiffContainer(metadata, options);
            await setSharded(zarr, array, null, data, { container });
            assertEquals((await zarr.get(array, null)).data, data);

            const whole = `${folder}/${path}.raw`;
            await Deno.writeFile(whole, new Uint8Array(data.buffer));
            const dtype = dtypeOf(dataType);
            expected.push({
              name,
              path: `${folder}/${path}`,
              elements: whole,
              shape: [70, 100],
              dtype,
              readers: ["zarr-python"],
            });
            const { data: corner } = await zarr.get(array, [
              zarr.slice(64, 70),
              zarr.slice(64, 100),
            ]);
            const elements = `${folder}/${path}-corner.raw`;
            await Deno.writeFile(
              elements,
              new Uint8Array((corner as Uint8Array).buffer),
            );
            expected.push({
              name,
              path: folder + chunks.key([1, 1]),
              elements,
              shape: [6, 36],
              dtype,
              readers: ["tifffile", "GDAL", "libtiff"],
            });
          }
        }
      }
      await assertRead(python, folder, expected);
    }),
);
