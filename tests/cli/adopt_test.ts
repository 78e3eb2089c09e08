import { assertEquals, assertStringIncludes } from "@std/assert";
import * as zarr from "zarrita";
import { FileSystemStore } from "../../mod.ts";
import { withZarrParts } from "../../zarrita.ts";
import { mosaicOf, tiffOf, zipOf } from "../adopt/tiled_files.ts";
import { digestsOf } from "../jobs/digests.ts";
import { inTempDir, present } from "../stores/temp_dir.ts";
import { treeOf } from "../support/tree.ts";
import { runCli } from "./run_cli.ts";

/** Writes files into a folder. Returns their paths. */
async function writeFiles(
  folder: string,
  files: Readonly<Record<string, Uint8Array>>,
): Promise<string[]> {
  await Deno.mkdir(folder, { recursive: true });
  const paths: string[] = [];
  for (const [name, bytes] of Object.entries(files)) {
    await Deno.writeFile(`${folder}/${name}`, bytes);
    paths.push(`${folder}/${name}`);
  }
  return paths;
}

/** The first element of each file of an array, by the file's grid coordinates. */
async function valuesOf(folder: string): Promise<unknown[][]> {
  const root = zarr.root(withZarrParts(new FileSystemStore(folder)));
  const array = await zarr.open(root, { kind: "array" });
  const stride = (length: number) => zarr.slice(0, length, 16);
  const [rows, columns] = array.shape.slice(-2);
  const before = array.shape.slice(0, -2).map(() => null);
  const { data, shape } = await zarr.get(array, [
    ...before,
    stride(rows!),
    stride(columns!),
  ]);
  const values = Array.from(data as Uint8Array);
  const width = shape.at(-1)!;
  return Array.from(
    { length: values.length / width },
    (_, i) => values.slice(i * width, (i + 1) * width),
  );
}

const VALUES = [
  [0, 1, 2, 3],
  [16, 17, 0, 19],
  [32, 33, 34, 35],
];

for (
  const [format, files] of [
    ["tif", mosaicOf(tiffOf, ".tif")],
    ["zip", mosaicOf(zipOf, ".zip")],
  ] as const
) {
  Deno.test(`adopt makes an array of the ${format} files of a folder`, async () => {
    await inTempDir(async (folder) => {
      const place = `${folder}/survey`;
      const paths = await writeFiles(place, files);
      await Deno.writeTextFile(`${place}/notes.txt`, "Notes");
      const before = await treeOf(place);
      const template = ["--template", `y{0}_x{1}.${format}`];
      const dry = await runCli(
        ...["adopt", ...paths, "--into", place, ...template, "--dry-run"],
      );
      assertEquals(dry, {
        code: 0,
        out: `11 files would be adopted into ${place}
  48 × 64 elements, 11 inner chunks, indexes of 572 B
  1 place has no file: its elements have the fill value
`,
        err: "",
      });
      assertEquals(await treeOf(place), before);
      // The folder stands for all files in it that the template names.
      const done = await runCli("adopt", place, "--into", place, ...template);
      assertEquals(done, {
        ...dry,
        out: dry.out.replace("would be adopted", "adopted"),
      });
      assertEquals(await valuesOf(place), VALUES);
      const { [`/zarr.json`]: _, ...after } = await treeOf(place);
      const indexed = Object.keys(after)
        .filter((name) => !name.endsWith(".index"));
      assertEquals(indexed, Object.keys(before));
      for (const name of indexed) assertEquals(after[name], before[name]);

      const again = await runCli("adopt", place, "--into", place, ...template);
      assertEquals(again.code, 1);
      assertStringIncludes(
        again.err,
        "is there already; remove it, or give --overwrite (at /zarr.json in",
      );
      const json = await runCli(
        ...["adopt", place, "--into", place, ...template],
        ...["--overwrite", "--json"],
      );
      const { files: count, missingFiles, metadata } = JSON.parse(json.out);
      assertEquals([count, missingFiles, metadata.shape], [11, 1, [48, 64]]);
    });
  });

  Deno.test(`adopt links ${format} files of other names into the folder of the array`, async () => {
    await inTempDir(async (folder) => {
      const paths = await writeFiles(`${folder}/files`, files);
      const before = await treeOf(`${folder}/files`);
      const place = `${folder}/arrays/new.zarr`;
      const { code, err } = await runCli(
        ...["adopt", ...paths, "--into", place, "--link"],
        ...["--template", `y{0}_x{1}.${format}`],
      );
      assertEquals([code, err], [0, ""]);
      assertEquals(await valuesOf(place), VALUES);
      assertEquals(await treeOf(`${folder}/files`), before);
      const [one, other] = await Promise.all([
        Deno.stat(`${folder}/files/y2_x3.${format}`),
        Deno.stat(`${place}/c/2/3.${format}`),
      ]);
      assertEquals(one.ino, other.ino);
    });
  });

  Deno.test(`adopt links a single ${format} file`, async () => {
    await inTempDir(async (folder) => {
      const [path] = await writeFiles(folder, {
        [`any.${format}`]: Object.values(files)[5]!,
      });
      const one = `${folder}/one`;
      assertEquals(
        (await runCli("adopt", path!, "--into", one, "--link")).code,
        0,
      );
      assertEquals(await valuesOf(one), [[17]]);
    });
  });
}

Deno.test("adopt stacks TIFFs in their order", async () => {
  await inTempDir(async (folder) => {
    const paths = await writeFiles(folder, {
      "b.tif": tiffOf(20),
      "a.tif": tiffOf(10),
      "c.tif": tiffOf(30),
    });
    const place = `${folder}/days`;
    const { code, err } = await runCli(
      ...["adopt", ...paths, "--into", place, "--link", "--stack"],
    );
    assertEquals([code, err], [0, ""]);
    assertEquals(await valuesOf(place), [[20], [10], [30]]);
  });
});

Deno.test("adopt stacks the TIFFs of a folder again, without the links of the first run", async () => {
  await inTempDir(async (folder) => {
    await writeFiles(folder, { "a.tif": tiffOf(1), "b.tif": tiffOf(2) });
    const args = ["adopt", folder, "--into", folder, "--link", "--stack"];
    assertEquals((await runCli(...args)).code, 0);
    const before = await treeOf(folder);
    assertEquals((await runCli(...args, "--overwrite")).code, 0);
    assertEquals(await treeOf(folder), before);
    assertEquals(await valuesOf(folder), [[1], [2]]);
  });
});

Deno.test("adopt refuses chunks with two extensions in a folder, and leaves none out", async () => {
  await inTempDir(async (folder) => {
    await writeFiles(`${folder}/c/0`, {
      "0.tif": tiffOf(1),
      "1.tiff": tiffOf(2),
    });
    const { code, err } = await runCli("adopt", folder, "--into", folder);
    assertEquals(code, 2);
    assertStringIncludes(
      err,
      'c/0/1.tiff" does not have the name of a chunk: expected names such as c/0/1.tif',
    );
  });
});

/** Wrong usage, and what the message says. `FILES` stands for two TIFFs, and `DIR` for their folder. */
Deno.test("adopt --multiscale makes a group of a file and its overviews", async () => {
  await inTempDir(async (folder) => {
    await Deno.copyFile(
      "tests/fixtures/tiffs/scene.tif",
      `${folder}/scene.tif`,
    );
    const place = `${folder}/scene.zarr`;
    const adopt = ["adopt", folder, "--into", place, "--multiscale"];
    const levels = `with 3 levels
  0/data: 128 × 128 elements, 4 inner chunks, indexes of 100 B
  1/data: 64 × 64 elements, 1 inner chunk, indexes of 52 B
  2/data: 32 × 32 elements, 1 inner chunk, indexes of 52 B
`;
    const dry = await runCli(...adopt, "--dry-run");
    assertEquals(dry.out, `1 file would be adopted into ${place}, ${levels}`);
    assertEquals(await present(place), false);
    const done = await runCli(...adopt);
    assertEquals(done, {
      code: 0,
      out: `1 file adopted into ${place}, ${levels}`,
      err: "",
    });
    // The folder now holds links, too, which are not adopted again.
    const again = await runCli(...adopt, "--overwrite", "--json");
    const { levels: arrays, attributes } = JSON.parse(again.out);
    assertEquals(
      arrays.map(({ metadata }: { metadata: { shape: number[] } }) =>
        metadata.shape
      ),
      [[128, 128], [64, 64], [32, 32]],
    );
    assertEquals(attributes["proj:code"], "EPSG:4326");
    assertEquals((await runCli("verify", place, "--deep")).code, 0);

    const plain = await runCli(
      ...["adopt", `${folder}/scene.tif`, "--into", `${folder}/a`, "--link"],
    );
    assertStringIncludes(plain.out, "has 2 overviews");
    assertStringIncludes(plain.out, "adopt --multiscale");
  });
});

const MISTAKES: [string, number, string][] = [
  ["FILES", 2, "Expected --into=PATH with the folder of the array"],
  ["--into DIR", 2, "Expected FILES…, found nothing"],
  ["https://example.com/a.tif --into DIR", 2, "expected a path, found a URL"],
  ["FILES --into s3://bucket/a --link --stack", 2, 'use "s3://bucket/a" here'],
  ["FILES --into file:///a --link --stack", 2, 'use "file:///a" here'],
  [
    "FILES --into DIR",
    2,
    'y0_x0.tif" does not have the name of a chunk: expected names such as c/0/1.tif',
  ],
  [
    "FILES --into DIR --template z{0}_{1}.tif",
    2,
    'does not fit --template "z{0}_{1}.tif": expected names such as z0_1.tif',
  ],
  [
    "DIR --into DIR --template z{0}_{1}.tif",
    2,
    "expected names such as z0_1.tif",
  ],
  [
    "DIR --into DIR",
    2,
    'Expected files in "DIR" with names such as c/0/1.tif, found files such as "a.zip"; --template',
  ],
  [
    "FILES --into DIR/new",
    2,
    'is not in "DIR/new", the folder of the array: expected --into with a folder that holds the files, or --link',
  ],
  [
    "FILES --into DIR/new --link",
    2,
    "Expected --template, such as --template 'y0_x{0}.tif', --places or --stack, which say the places of 2 files",
  ],
  [
    "FILES DIR/empty --into DIR --template y{0}_x{1}.tif",
    2,
    'No file in "DIR/empty" fits --template "y{0}_x{1}.tif": expected names such as y0_x1.tif, found no TIFF or zip files',
  ],
  ["FILES DIR/a.zip --into DIR", 2, "Expected files of one format, found"],
  ["DIR/a.zip --into DIR/new --link --page 1", 2, "--page is for TIFFs only"],
  [
    "FILES --into DIR/new --link --stack --array x",
    2,
    "--array is for zip files only",
  ],
  ["FILES --into DIR --template {*}.tif", 2, "Expected a separator for {*}"],
  ["FILES --into DIR --link --stack --page x", 2, 'number, found "x"'],
  [
    "DIR/none.tif --into DIR --link",
    1,
    'There is no file or folder "DIR/none.tif"',
  ],
  ["FILES --into DIR --link --stack --page 3", 2, "has no page 3"],
  [
    "DIR/a.zip --into DIR/new --multiscale",
    2,
    "--multiscale is for TIFFs only",
  ],
  [
    "DIR/a.zip --into DIR/new --link",
    1,
    'File "/a.zip" does not end with the last record of a zip: it is not a zip, was cut, or has bytes after the zip (in DIR)',
  ],
];

Deno.test("adopt answers mistakes, says what would be right, and writes nothing", async () => {
  await inTempDir(async (folder) => {
    const files = await writeFiles(folder, {
      "y0_x0.tif": tiffOf(1),
      "y0_x1.tif": tiffOf(2),
    });
    await Deno.writeTextFile(`${folder}/a.zip`, "no zip");
    await Deno.mkdir(`${folder}/empty`);
    const store = new FileSystemStore(folder);
    const before = await digestsOf(store);
    for (const [line, status, message] of MISTAKES) {
      const args = line.split(" ").flatMap((word) =>
        word === "FILES" ? files : [word.replace("DIR", folder)]
      );
      const { code, out, err } = await runCli("adopt", ...args);
      assertEquals([code, out], [status, ""], `${line}: ${err}`);
      assertStringIncludes(err.replaceAll(folder, "DIR"), message, line);
      assertEquals(await digestsOf(store), before, line);
    }
    assertEquals(await present(`${folder}/new`), false);
  });
});
