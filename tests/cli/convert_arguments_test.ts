import { assertEquals, assertStringIncludes } from "@std/assert";
import {
  arrayMetadata,
  createArrayChunks,
  encodeShard,
  FileSystemStore,
  openArrayChunks,
  parseShardLayout,
} from "../../mod.ts";
import { describeTiff, tiffContainer, type TiffPage } from "../../tiff.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { encodeJson, groupMetadata } from "../support/documents.ts";
import { runCli } from "./run_cli.ts";

/** Stores an array of 60 × 100 elements in chunks of 30 × 50, all of which are stored. */
async function storeArray(
  folder: string,
  attributes: Record<string, unknown> = {},
  shape: number[] = [60, 100],
): Promise<void> {
  const metadata = arrayMetadata({
    shape,
    dataType: "uint8",
    chunkShape: shape.map((length, i) => i < shape.length - 2 ? 1 : length / 2),
    dimensionNames: ["t", "c", "z", "y", "x"].slice(-shape.length),
    attributes,
  });
  const store = new FileSystemStore(folder);
  const chunks = await createArrayChunks(store, "", metadata);
  const size = chunks.chunkShape.reduce((product, n) => product * n, 1);
  const first = shape.map(() => 0);
  await chunks.set(first, new Uint8Array(size).fill(7));
}

/** The pages of the first shard of an array. */
async function pagesOf(folder: string): Promise<readonly TiffPage[]> {
  const chunks = await openArrayChunks(new FileSystemStore(folder));
  const first = chunks.gridShape.map(() => 0);
  return (await describeTiff((range) => chunks.getRange(first, range))).pages;
}

Deno.test("convert refuses wrong options for TIFF and zip files, and says what would be right", async () => {
  await inTempDir(async (folder) => {
    await storeArray(`${folder}/a`);
    const tiff = ["--container", "tiff"];
    const recoded = [...tiff, "--recode"];
    const cases: [string[], string][] = [
      [["--recode"], "Expected --container with --recode"],
      [
        ["--container", "zip", "--georeference", "none"],
        "Expected --container=tiff with --georeference, found --container=zip",
      ],
      [["--container", "png"], 'Expected --container=tiff or zip, found "png"'],
      [
        [...recoded, "--shards", "none"],
        "Expected shards with --container, which makes a file of each shard",
      ],
      [[...recoded, "--chunks", "30,50"], "multiples of 16 elements"],
      [[...recoded, "--codecs", "gzip"], 'TIFF has no "gzip" there'],
      [[...recoded, "--georeference", "1,2,3"], "with 4 or 6 numbers, found 3"],
      [[...recoded, "--georeference", "no.tfw"], "there is no such file"],
      [
        [...recoded, "--georeference", "0,0,0,1"],
        "a bounding box [xmin, ymin, xmax, ymax] that is not empty",
      ],
      [
        [...recoded, "--georeference", "0,0,1,1,EPSG:5773"],
        'found "EPSG:5773": give the georeference of a GeoTIFF with this system, or none',
      ],
      [
        tiff,
        "; --recode encodes the array anew with codecs, chunks and shards that fit",
      ],
      [
        ["--container", "zip"],
        "; --recode encodes the array anew with codecs, chunks and shards that fit",
      ],
      [["--in-place", "--recode"], "Expected --in-place or --recode"],
    ];
    for (const [options, message] of cases) {
      const places = options[0] === "--in-place"
        ? [`${folder}/a`]
        : [`${folder}/a`, `${folder}/b`];
      const { code, err } = await runCli("convert", ...places, ...options);
      assertStringIncludes(err, message);
      assertEquals(code, 2, options.join(" "));
    }
  });
});

Deno.test("convert takes the place of an array in all notations", async () => {
  await inTempDir(async (folder) => {
    await storeArray(`${folder}/a`);
    const write = (name: string, text: string) =>
      Deno.writeTextFile(`${folder}/${name}`, text);
    const wkt = 'PROJCRS["UTM",ID["EPSG",32632]]';
    await write("a.tfw", "30\n0\n0\n-20\n515\n890\n");
    await write("b.tfw", "30\n0\n0\n-20\n515\n890\n");
    await write("b.prj", `${wkt}\n`);
    const transform = [30, 0, 500, 0, -20, 900];
    const attributes = {
      "spatial:transform": transform,
      "spatial:shape": [60, 100],
      "proj:code": "EPSG:32632",
    };
    await write("a.json", JSON.stringify(attributes));
    await write("zarr.json", JSON.stringify({ attributes }));
    const tags = {
      modelPixelScale: [30, 20, 0],
      modelTiepoint: [0, 0, 0, 500, 900, 0],
      geoKeyDirectory: [
        ...[1, 1, 0, 3, 1024, 0, 1, 1, 1025, 0, 1, 1, 3072, 0, 1, 32632],
      ],
    };
    await write("tags.json", JSON.stringify(tags));
    const metadata = arrayMetadata({
      shape: [60, 100],
      dataType: "uint8",
      shardShape: [64, 112],
      chunkShape: [64, 112],
    });
    const shard = encodeShard(
      [new Uint8Array(64 * 112)],
      parseShardLayout(metadata.codecs[0], [64, 112]),
      { container: tiffContainer(metadata, { georeference: tags })([0, 0]) },
    );
    await Deno.writeFile(`${folder}/a.tif`, shard);
    for (
      const place of [
        "500,-300,3500,900,EPSG:32632",
        "30,0,500,0,-20,900,EPSG:32632",
        `${folder}/a.tfw,EPSG:32632`,
        ...["b.tfw", "a.json", "zarr.json", "tags.json", "a.tif"].map((name) =>
          `${folder}/${name}`
        ),
      ]
    ) {
      const { code, err } = await runCli(
        ...["convert", `${folder}/a`, `${folder}/b`, "--container", "tiff"],
        ...["--recode", "--overwrite", "--georeference", place],
      );
      assertEquals([code, err], [0, ""], place);
      const [page] = await pagesOf(`${folder}/b`);
      assertEquals(page?.place, tags as TiffPage["place"], place);
    }
  });
});

Deno.test("convert refuses a place for an array of another size, and one transform for two sizes", async () => {
  await inTempDir(async (folder) => {
    await Deno.mkdir(`${folder}/g`);
    const group = `${folder}/g/zarr.json`;
    await Deno.writeFile(group, encodeJson(groupMetadata()));
    await storeArray(`${folder}/g/0`);
    await storeArray(`${folder}/g/1`, {}, [30, 50]);
    await Deno.writeTextFile(
      `${folder}/a.json`,
      JSON.stringify({ "spatial:bbox": [0, 0, 1, 1], "spatial:shape": [6, 6] }),
    );
    const run = (place: string, ...others: string[]) =>
      runCli(
        ...["convert", `${folder}/g`, `${folder}/b`, "--container", "tiff"],
        ...["--recode", "--overwrite", "--georeference", place, ...others],
      );
    const turned = await run("30,0,500,0,-20,900");
    assertStringIncludes(
      turned.err,
      "Expected arrays of one shape for this georeference, found 60 × 100 and 30 × 50: give --georeference xmin,ymin,xmax,ymax,EPSG:N",
    );
    const other = await run(`${folder}/a.json`, "--only", "0");
    assertStringIncludes(
      other.err,
      "Expected the georeference of an array of 60 × 100 elements along y and x, found one for 6 × 6: give a bounding box instead",
    );
    assertEquals([turned.code, other.code], [2, 2]);
    // A box has a transform for each.
    const { code, err } = await run("0,0,100,60");
    assertEquals([code, err], [0, ""]);
    for (const [path, scale] of [["0", 1], ["1", 2]] as const) {
      const [page] = await pagesOf(`${folder}/b/${path}`);
      assertEquals(page?.place?.modelPixelScale, [scale, scale, 0]);
    }
  });
});

Deno.test("convert takes GDAL_NODATA and the place from the attributes, and no place if asked", async () => {
  await inTempDir(async (folder) => {
    await storeArray(`${folder}/a`, {
      _FillValue: 7,
      "spatial:transform": [1, 0, 0, 0, -1, 0],
    });
    for (const options of [[], ["--georeference", "none"]]) {
      const { code, err } = await runCli(
        ...["convert", `${folder}/a`, `${folder}/b`, "--container", "tiff"],
        ...["--recode", "--overwrite", ...options],
      );
      assertEquals([code, err], [0, ""]);
      const [page] = await pagesOf(`${folder}/b`);
      assertEquals(page?.noData, 7);
      assertEquals(page?.place === undefined, options.length > 0);
    }
  });
});

Deno.test("convert finds the place and the dimensions of one array in the groups around it", async () => {
  await inTempDir(async (folder) => {
    await Deno.mkdir(`${folder}/g`);
    const attributes = {
      "proj:code": "EPSG:4326",
      multiscales: [{
        axes: ["t", "c", "z", "y", "x"],
        datasets: [{ path: "0" }],
      }],
    };
    const group = encodeJson({ ...groupMetadata(), attributes });
    await Deno.writeFile(`${folder}/g/zarr.json`, group);
    const transform = { "spatial:transform": [1, 0, 0, 0, -1, 0] };
    await storeArray(`${folder}/g/0`, transform, [1, 2, 3, 40, 60]);
    for (const place of [`${folder}/g/0`, `${folder}/g/0/`]) {
      const { code, err } = await runCli(
        ...["convert", place, `${folder}/b`, "--container", "tiff"],
        ...["--recode", "--overwrite"],
      );
      assertEquals([code, err], [0, ""]);
      const [page] = await pagesOf(`${folder}/b`);
      assertStringIncludes(page?.description ?? "", 'SizeZ="3" SizeC="2"');
      assertEquals(page?.place?.geoKeyDirectory?.slice(-4), [2048, 0, 1, 4326]);
    }
  });
});
