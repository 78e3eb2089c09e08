/** Files as people name them: templates that start at other numbers, and tables of places. */
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
      const given = [place];
      const { code, out, err } = await runCli(
        ...["adopt", ...given, "--into", place, ...args],
      );
      assertEquals([code, err], [0, ""]);
      const missing = values.filter((value) => value === 0).length;
      assertStringIncludes(out, `${values.length - missing} file`);
      assertEquals(out.includes("no file"), missing > 0, out);
      assert(!out.includes("The first file"), out);
      const found = await gridOf(place);
      assertEquals([found.grid, found.values], [[...grid], [...values]]);
      for (const [key, bytes] of Object.entries(before)) {
        assertEquals((await treeOf(place))[key], bytes);
      }
      const verified = await runCli("verify", place, "--deep");
      assertEquals(verified.code, 0, verified.out);

      // By links, the array is the same.
      const linked = await runCli(
        ...["adopt", ...given, "--into", `${folder}/linked`, "--link", ...args],
      );
      assertEquals([linked.code, linked.err], [0, ""]);
      assertEquals(await gridOf(`${folder}/linked`), found);
    });
  });
}

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
        [`${folder}/none.csv`, "No such file"],
        [folder, "Is a directory"],
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
