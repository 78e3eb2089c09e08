/** Files as people name them become arrays: by templates, by tables of places, and in stacks. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import * as zarr from "zarrita";
import { FileSystemStore } from "../../mod.ts";
import { withZarrParts } from "../../zarrita.ts";
import { tiffOf, zipOf } from "../adopt/tiled_files.ts";
import { inTempDir, present } from "../stores/temp_dir.ts";
import { treeOf } from "../support/tree.ts";
import { runCli } from "./run_cli.ts";

/** Writes files whose elements are 1, 2, 3 and so on, in the order of their names. */
async function writeFiles(
  folder: string,
  names: readonly string[],
): Promise<void> {
  for (const [i, name] of names.entries()) {
    const path = `${folder}/${name}`;
    await Deno.mkdir(path.slice(0, path.lastIndexOf("/")), { recursive: true });
    const fileOf = name.endsWith(".zip") ? zipOf : tiffOf;
    await Deno.writeFile(path, fileOf(i + 1));
  }
}

/** The shape of the grid of files, each of 16 × 16 elements, and the first element of each. */
async function gridOf(
  folder: string,
): Promise<{ grid: number[]; values: number[]; names: unknown }> {
  const root = zarr.root(withZarrParts(new FileSystemStore(folder)));
  const array = await zarr.open(root, { kind: "array" });
  const { data, shape } = await zarr.get(
    array,
    array.shape.map((length, i) =>
      i < array.shape.length - 2 ? null : zarr.slice(0, length, 16)
    ),
  );
  return {
    grid: shape,
    values: [...data as Uint8Array],
    names: array.dimensionNames,
  };
}

/** A naming scheme: the names of files, the arguments, and the files by grid coordinates. 0 stands for a missing file. */
interface Scheme {
  readonly files: readonly string[];
  readonly args: readonly string[];
  readonly grid: readonly number[];
  readonly values: readonly number[];
}

const SCHEMES: Record<string, Scheme> = {
  "a microscope: t from 1, z by 10 and c from 1": {
    files: [
      "img_t001_z000_c1.tif",
      "img_t001_z000_c2.tif",
      "img_t001_z010_c1.tif",
      "img_t002_z010_c2.tif",
    ],
    args: [
      ...["--stack", "--dimension-names", "t,z,c,y,x"],
      ...["--template", "img_t{0+1:03}_z{1*10:03}_c{2+1}.tif"],
    ],
    grid: [2, 2, 2, 1, 1],
    values: [1, 2, 3, 0, 0, 0, 0, 4],
  },
  "Micro-Manager: the column before the row": {
    files: ["1-Pos_000_000.tif", "1-Pos_001_000.tif", "1-Pos_000_001.tif"],
    args: ["--template", "1-Pos_{1:03}_{0:03}.tif"],
    grid: [2, 2],
    values: [1, 2, 3, 0],
  },
  "SRTM: rows from north to south": {
    files: ["N47E006.tif", "N47E007.tif", "N46E006.tif", "N46E007.tif"],
    args: ["--template", "N{0*-1+47}E{1+6:03}.tif"],
    grid: [2, 2],
    values: [1, 2, 3, 4],
  },
  "Hansen: by 10 degrees": {
    files: ["t_60N_010E.tif", "t_60N_020E.tif", "t_50N_020E.tif"],
    args: ["--template", "t_{0*-10+60}N_{1*10+10:03}E.tif"],
    grid: [2, 2],
    values: [1, 2, 0, 3],
  },
  "offsets in pixels": {
    files: ["a_0_0.tif", "a_0_16.tif", "a_16_0.tif", "a_16_16.tif"],
    args: ["--template", "a_{0*16}_{1*16}.tif"],
    grid: [2, 2],
    values: [1, 2, 3, 4],
  },
  "years in a row": {
    files: ["lst_2019.tif", "lst_2020.tif", "lst_2022.tif"],
    args: ["--stack", "--template", "lst_{0+2019}.tif"],
    grid: [4, 1, 1],
    values: [1, 2, 0, 3],
  },
  "zips: a year of days, rows only": {
    files: ["day_001.zip", "day_002.zip", "day_004.zip"],
    args: ["--template", "day_{0+1:03}.zip"],
    grid: [4, 1],
    values: [1, 2, 0, 3],
  },
};

for (const [name, { files, args, grid, values }] of Object.entries(SCHEMES)) {
  Deno.test(`adopt places ${name}`, async () => {
    await inTempDir(async (folder) => {
      const place = `${folder}/files`;
      await writeFiles(place, files);
      const before = await treeOf(place);
      const { code, out, err } = await runCli(
        ...["adopt", place, "--into", place, ...args],
      );
      assertEquals([code, err], [0, ""]);
      const missing = values.filter((value) => value === 0).length;
      assertStringIncludes(out, `${values.length - missing} file`);
      assertEquals(out.includes("no file"), missing > 0, out);
      assert(!out.includes("The first file"), out);
      const found = await gridOf(place);
      assertEquals([found.grid, found.values], [[...grid], [...values]]);
      const verified = await runCli("verify", place, "--deep");
      assertEquals(verified.code, 0, verified.out);

      // By links, the array is the same.
      const linked = await runCli(
        ...["adopt", place, "--into", `${folder}/linked`, "--link", ...args],
      );
      assertEquals([linked.code, linked.err], [0, ""]);
      assertEquals(await gridOf(`${folder}/linked`), found);
      const { nlink } = await Deno.stat(`${place}/${files[0]}`);
      assertEquals(nlink, 2);
      const after = await treeOf(place);
      for (const [key, bytes] of Object.entries(before)) {
        assertEquals(after[key], bytes);
      }
    });
  });
}

Deno.test("adopt says what it would do, refuses an array that is there, and prints JSON", async () => {
  await inTempDir(async (place) => {
    await writeFiles(place, ["y0_x0.tif", "y0_x1.tif", "y1_x1.tif"]);
    await Deno.writeTextFile(`${place}/notes.txt`, "Notes");
    const before = await treeOf(place);
    // The folder stands for all files in it that the template names.
    const args = [
      "adopt",
      place,
      "--into",
      place,
      "--template",
      "y{0}_x{1}.tif",
    ];
    const dry = await runCli(...args, "--dry-run");
    assertEquals(dry, {
      code: 0,
      out: `3 files would be adopted into ${place}
  32 × 32 elements, 3 inner chunks, indexes of 156 B
  1 place has no file: its elements have the fill value
`,
      err: "",
    });
    assertEquals(await treeOf(place), before);
    assertEquals(await runCli(...args), {
      ...dry,
      out: dry.out.replace("would be adopted", "adopted"),
    });
    const after = Object.keys(await treeOf(place))
      .filter((name) => !/index$|zarr\.json$/.test(name));
    assertEquals(after, Object.keys(before));
    const again = await runCli(...args);
    assertEquals(again.code, 1);
    assertStringIncludes(
      again.err,
      "is there already; remove it, or give --overwrite (at /zarr.json in",
    );
    const json = await runCli(...args, "--overwrite", "--json");
    const { files: count, missingFiles, metadata } = JSON.parse(json.out);
    assertEquals([count, missingFiles, metadata.shape], [3, 1, [32, 32]]);
  });
});

Deno.test("adopt links a single file, and stacks files in their order", async () => {
  await inTempDir(async (folder) => {
    const names = ["b.tif", "a.tif", "c.tif", "d.zip"];
    await writeFiles(folder, names);
    const [b, a, c, zip] = names.map((name) => `${folder}/${name}`);
    const cases: [files: (string | undefined)[], values: number[]][] = [
      [[a], [2]],
      [[zip], [4]],
      [[b, a, c, "--stack"], [1, 2, 3]],
    ];
    for (const [i, [files, expected]] of cases.entries()) {
      const place = `${folder}/new/${i}`;
      const args = ["adopt", ...files as string[], "--into", place, "--link"];
      assertEquals((await runCli(...args)).code, 0);
      assertEquals((await gridOf(place)).values, expected);
    }
  });
});

Deno.test("adopt stacks the TIFFs of a folder again, without the links of the first run", async () => {
  await inTempDir(async (folder) => {
    await writeFiles(folder, ["a.tif", "b.tif"]);
    const args = ["adopt", folder, "--into", folder, "--link", "--stack"];
    assertEquals((await runCli(...args)).code, 0);
    const before = await treeOf(folder);
    assertEquals((await runCli(...args, "--overwrite")).code, 0);
    assertEquals(await treeOf(folder), before);
    assertEquals((await gridOf(folder)).values, [1, 2]);
  });
});

Deno.test("adopt refuses chunks with two extensions in a folder, and leaves none out", async () => {
  await inTempDir(async (folder) => {
    await writeFiles(folder, ["c/0/0.tif", "c/0/1.tiff"]);
    const { code, err } = await runCli("adopt", folder, "--into", folder);
    assertEquals(code, 2);
    assertStringIncludes(
      err,
      'c/0/1.tiff" does not have the name of a chunk: expected names such as c/0/1.tif',
    );
  });
});

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

Deno.test("adopt gives an example of a template for the files that it finds, and notes on gaps", async () => {
  await inTempDir(async (folder) => {
    const names = [1, 2].flatMap((y) =>
      [10, 20, 30].map((x) => `t${y}_${x}.tif`)
    );
    await writeFiles(folder, names);
    const { code, err } = await runCli("adopt", folder, "--into", folder);
    assertEquals(code, 2);
    assertStringIncludes(err, ", such as --template 't{0+1}_{1+10}.tif'");
    const args = ["adopt", folder, "--dry-run", "--template", "t{0}_{1}.tif"];
    const lines = [
      "  48 × 496 elements, 6 inner chunks, indexes of 312 B",
      "  87 places have no file: their elements have the fill value",
      "  The first file along dimension 0 has the grid coordinate 1: elements before it have the fill value",
      "  The first file along dimension 1 has the grid coordinate 10: elements before it have the fill value",
    ];
    for (const more of [[folder], [`${folder}/new`, "--link"]]) {
      const { code, out } = await runCli(...args, "--into", ...more);
      assertEquals([code, out.split("\n").slice(1, -1)], [0, lines]);
    }
  });
});

/** Templates that do not fit the files t1_10.tif, t1_20.tif and t2_20.tif, and what the message says. */
const MISFITS: [string, string][] = [
  [
    "DIR --template t{0+1}_{1*20}.tif",
    'File "DIR/t1_10.tif" does not fit --template "t{0+1}_{1*20}.tif": it has 10 at {1*20}; expected 0 or 20, as in t1_20.tif, such as --template \'t{0+1}_{1+10}.tif\'',
  ],
  [
    "DIR/t1_20.tif --template t{0+1}_{1*20+40}.tif",
    "it has 20 at {1*20+40}; expected 40, as in t1_40.tif",
  ],
  [
    "DIR --template t{0+2}_{1*10}.tif",
    "it has 1 at {0+2}; expected 2, as in t2_10.tif",
  ],
  [
    "DIR --template t{0:02}_{1}.tif",
    "it has 1 at {0:02}; expected 01, as in t01_10.tif",
  ],
  [
    "DIR --template u{0}_{1}.tif",
    'No file in "DIR" fits --template "u{0}_{1}.tif": expected names such as u0_1.tif, found files such as "t1_10.tif", such as --template \'t{0+1}_{1+10}.tif\'',
  ],
  [
    "DIR --template t1_{0*10+10}.tif",
    'File "t1_10.tif" has a number for its dimension y and none for x, of ["y", "x"]',
  ],
  [
    "DIR --template t{0}_{1}.tif --stack",
    'has a number for its dimension y and none for x, of ["stack", "y", "x"]',
  ],
  [
    "DIR --template t{0}_{1}.tif --dimension-names a,b,c",
    "to have one name for each of the 2 dimensions, found",
  ],
  ["DIR --template t{0*0}_{1}.tif", 'holds a single "{"'],
  [
    "DIR --template t{1}_{2}.tif",
    'File "/t1_10.tif" is at [0, 1, 10], where an array of it has the dimensions ["y", "x"]: give one coordinate for each',
  ],
];

Deno.test("adopt names files that do not fit a template, and the nearest names that do", async () => {
  await inTempDir(async (folder) => {
    await writeFiles(folder, ["t1_10.tif", "t1_20.tif", "t2_20.tif"]);
    const before = await treeOf(folder);
    for (const [line, message] of MISFITS) {
      const [given, ...args] = line.replace("DIR", folder).split(" ");
      const { code, err } = await runCli(
        ...["adopt", given!, "--into", folder, ...args],
      );
      assertEquals(code, 2, err);
      assertStringIncludes(err.replaceAll(folder, "DIR"), message, line);
    }
    assertEquals(await treeOf(folder), before);
  });
});

/** Tables of places, further arguments, and the grid, the elements and the names of the dimensions. */
const TABLES: [string, string[], number[], number[], (string | null)[]][] = [
  ["0\t1\ta.tif\n0\t0\tb.tif", [], [1, 2], [2, 1], ["y", "x"]],
  ["X,Y,FILE\n1,0,a.tif\n0,0,b.tif", [], [1, 2], [2, 1], ["Y", "X"]],
  [
    "file,x,time\na.tif,1,0\nb.tif,0,1",
    ["--stack"],
    [2, 1, 2],
    [0, 1, 2, 0],
    ["time", "y", "x"],
  ],
  [
    "a.tif,0,1\nb.tif,1,0",
    ["--stack", "--dimension-names", "t,z,y,x"],
    [2, 2, 1, 1],
    [0, 1, 2, 0],
    ["t", "z", "y", "x"],
  ],
  [
    '"file",y,x\n"sub/c, ""d"".tif", 0 ,0\n\n,,\n"a.tif",0,2\n',
    [],
    [1, 3],
    [3, 0, 1],
    ["y", "x"],
  ],
  ["FOLDER/a.tif,0,0\n../files/b.tif,1,0", [], [2, 1], [1, 2], ["y", "x"]],
  ["file,day\na.zip,0\nb.zip,1", [], [2, 1], [5, 6], ["day", null]],
];

const TABLE_FILES = [
  "a.tif",
  "b.tif",
  'sub/c, "d".tif',
  "T32.tif",
  "a.zip",
  "b.zip",
];

Deno.test("adopt takes the places of files from a table", async () => {
  await inTempDir(async (folder) => {
    await writeFiles(`${folder}/files`, TABLE_FILES);
    const before = await treeOf(`${folder}/files`);
    for (const [i, [text, args, grid, values, names]] of TABLES.entries()) {
      const table = `${folder}/files/places.csv`;
      await Deno.writeTextFile(
        table,
        text.replaceAll("FOLDER", `${folder}/files`),
      );
      const place = `${folder}/arrays/${i}`;
      const { code, err } = await runCli(
        ...["adopt", "--places", table, "--into", place, ...args],
      );
      assertEquals([code, err], [0, ""], text);
      const found = await gridOf(place);
      assertEquals([found.grid, found.values], [grid, values], text);
      const isNamed = names.some((name) => name !== null);
      assertEquals(found.names, isNamed ? names : undefined, text);
    }
    await Deno.remove(`${folder}/files/places.csv`);
    assertEquals(await treeOf(`${folder}/files`), before);
  });
});

/** Tables that are refused, further arguments, and what the message says. */
const WRONG_TABLES: [string | Uint8Array, string, string[]?][] = [
  ["", "it has no line with a file; expected lines such as tile.tif,0,1"],
  ["a.tif\nb.tif", 'line 2 has the cells "b.tif"; expected the path of'],
  ["file,y,x\na.tif,0", "line 2 has 2 cells, where line 1 has 3"],
  [
    "file,y,x\na.tif,0,-1",
    'line 2 has "-1" in the column "x"; expected a grid',
  ],
  [
    "a.tif,0,1.0",
    'line 1 has the cells "a.tif", "0", "1.0"; expected the path',
  ],
  ["file,y,x\na.tif,0,9007199254740992", 'has "9007199254740992" in the'],
  ["file,y,x,date\na.tif,0,1,May", "leave out other columns"],
  ["file,path,y\na.tif,b.tif,0", "expected the path of one file"],
  ["file,y,x\nc.tif,0,0", 'line 2 names "c.tif", where there is no file'],
  ["file,y,x\nsub,0,0", 'line 2 names "sub", which is a folder'],
  ["file,y,x\nhttps://a.b/c.tif,0,0", "expected a path, found a URL"],
  [
    "file,y,x\na.tif,0,0\nb.tif,0,0",
    "Expected one file for the chunk [0, 0], found",
  ],
  ['file,y,x\n"a.tif,0,0', "it is not CSV in UTF-8: Quote Not Closed"],
  [new Uint8Array([0xff, 0xfe, 0x61, 0]), "it is not CSV in UTF-8"],
  ["file,time\na.tif,0\nb.tif,1", "or --stack for a new first dimension"],
  ["file,a,b,c\na.tif,0,0,0", "it has 3 columns of grid coordinates"],
  ["a.tif,0,0\nb.zip,0,1", "Expected files of one format, found"],
  [
    "a.tif,0,0",
    "to have one name for each of the 2 dimensions, found",
    ["--dimension-names", "y"],
  ],
  ["a.zip,0,0", "to have one name for each of", [
    "--dimension-names",
    "y,x,z",
  ]],
  ["a.tif,0,0", "Expected --places or --template, found both", [
    "--template",
    "{0}.tif",
  ]],
  ["a.tif,0,0", "Expected nothing but options with --places, found", ["a.tif"]],
];

Deno.test("adopt refuses tables that do not say places, and writes nothing", async () => {
  await inTempDir(async (folder) => {
    await writeFiles(folder, TABLE_FILES);
    const table = `${folder}/places.csv`;
    const adopt = (...args: string[]) =>
      runCli("adopt", "--places", ...args, "--into", `${folder}/new`);
    for (const [text, message, args = []] of WRONG_TABLES) {
      if (typeof text === "string") await Deno.writeTextFile(table, text);
      else await Deno.writeFile(table, text);
      const { code, out, err } = await adopt(table, ...args);
      assertEquals([code, out], [2, ""], `${text}: ${err}`);
      assertStringIncludes(err, message);
    }
    for (
      const [path, message] of [
        [`${folder}/none.csv`, "there is no such file"],
        [folder, "it is a folder, expected a CSV file"],
        ["https://a.b/c.csv", "expected a path, found a URL"],
      ] as const
    ) {
      const { code, err } = await adopt(path);
      assertEquals(code, 2);
      assertStringIncludes(err, message);
    }
    assertEquals(await present(`${folder}/new`), false);
  });
});

Deno.test("adopt stacks the files of a folder in the order of their numbers, and notes other orders", async () => {
  await inTempDir(async (folder) => {
    const names = Array.from({ length: 12 }, (_, i) => `month_${i + 1}.tif`);
    await writeFiles(`${folder}/files`, names);
    const adopt = (files: readonly string[], ...args: string[]) =>
      runCli(
        ...["adopt", ...files.map((file) => `${folder}/files/${file}`)],
        ...["--into", `${folder}/new`, "--link", "--stack", ...args],
      );
    const note =
      `  The files are stacked in the order given, "month_10.tif" before "month_2.tif": give their folder for the order of their numbers, or --template, such as --template 'month_{0+1}.tif'\n`;
    const sorted = await adopt(names.toSorted(), "--dry-run");
    assertStringIncludes(sorted.out, note);
    for (const files of [names, names.toReversed(), names.slice(0, 9)]) {
      const { code, out } = await adopt(files, "--dry-run");
      assertEquals([code, out.includes("in the order given")], [0, false]);
    }
    const { code, out } = await adopt([""]);
    assertEquals([code, out.includes("in the order given")], [0, false]);
    const { values } = await gridOf(`${folder}/new`);
    assertEquals(values, names.map((_, i) => i + 1));
  });
});

/** Wrong usage, and what the message says. `FILES` stands for two TIFFs, and `DIR` for their folder. */
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
    const names = ["y0_x0.tif", "y0_x1.tif"];
    await writeFiles(folder, names);
    const files = names.map((name) => `${folder}/${name}`);
    await Deno.writeTextFile(`${folder}/a.zip`, "no zip");
    await Deno.mkdir(`${folder}/empty`);
    const before = await treeOf(folder);
    for (const [line, status, message] of MISTAKES) {
      const args = line.split(" ").flatMap((word) =>
        word === "FILES" ? files : [word.replace("DIR", folder)]
      );
      const { code, out, err } = await runCli("adopt", ...args);
      assertEquals([code, out], [status, ""], `${line}: ${err}`);
      assertStringIncludes(err.replaceAll(folder, "DIR"), message, line);
      assertEquals(await treeOf(folder), before, line);
    }
    assertEquals(await present(`${folder}/new`), false);
  });
});
