/** Files whose names number them from 1, by steps, or along some dimensions alone. */
import { assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import * as zarr from "zarrita";
import {
  arrayMetadata,
  MemoryStore,
  type StoreKey,
  TemplateChunkKeyEncoding,
} from "../../mod.ts";
import { exampleTemplate } from "../../src/adopt/find_files.ts";
import { adoptTiffs, verifyAdopted } from "../../tiff.ts";
import { adoptZip } from "../../zip.ts";
import { withZarrParts } from "../../zarrita.ts";
import { encodeJson } from "../support/documents.ts";
import { makeZip } from "../zip/make_zip.ts";
import { elementAt, pyramidFile } from "./pyramid_file.ts";
import { tiffOf } from "./tiled_files.ts";

const template = (format: string) => ({
  chunkKeyEncoding: { name: "template", configuration: { format } },
});

function storeOf(files: Readonly<Record<string, Uint8Array>>): MemoryStore {
  return new MemoryStore(
    Object.entries(files).map(([name, bytes]) =>
      [`/a/${name}` as StoreKey, bytes] as const
    ),
  );
}

/** A TIFF of one tile of 16 × 16 bytes for each page and band. */
function tiffWith(
  { pages = 1, bands = 1, isPlanar = false }: {
    pages?: number;
    bands?: number;
    isPlanar?: boolean;
  },
  seed: number,
): Uint8Array {
  const zeros = new Array<number>(pages).fill(0);
  const sizes = zeros.map(() => [16, 16] as const);
  return pyramidFile(sizes, { bands, isPlanar, kinds: zeros, seed });
}

/** A zip with an array of 2 × 4 × 4 bytes in one chunk. */
function cubeOf(value: number): Uint8Array {
  const metadata = arrayMetadata({
    shape: [2, 4, 4],
    dataType: "uint8",
    chunkShape: [2, 4, 4],
    dimensionNames: ["t", "y", "x"],
  });
  return makeZip([
    { name: "zarr.json", bytes: encodeJson(metadata) },
    { name: "c/0/0/0", bytes: new Uint8Array(32).fill(value) },
  ]).file;
}

/** Files of a kind, a format, and the shape of the array of two files, or a part of the error. */
const KINDS: [
  Parameters<typeof tiffWith>[0],
  string,
  readonly number[] | string,
  (boolean | number)?,
][] = [
  [{ pages: 3 }, "f{0+1}.tif", [6, 16, 16]],
  [{ pages: 3 }, "f{-3+1}.tif", [6, 16, 16]],
  [{ bands: 3 }, "f{2+1}.tif", [16, 16, 6]],
  [{ bands: 3 }, "f{-1+1}.tif", [16, 16, 6]],
  [{ bands: 3, isPlanar: true }, "f{0+1}.tif", [6, 16, 16]],
  [{}, "f{0+1}.tif", [2, 16, 16], true],
  [{ bands: 3 }, "f{0+1}.tif", [2, 16, 16, 3], true],
  [{ pages: 2 }, "f{0+1}.tif", [2, 2, 16, 16], true],
  [{ pages: 2 }, "f{1+1}.tif", [1, 4, 16, 16], true],
  [{}, "f{0+1}.tif", [2, 1, 16, 16], 2],
  [{}, "f{1+1}.tif", [1, 2, 16, 16], 2],
  [{}, "f{-3+1}.tif", [1, 2, 16, 16], 2],
  [{ bands: 3 }, "f{2+1}.tif", [1, 1, 2, 16, 16, 3], 3],
  [{}, "f{0+1}.tif", 'of ["y", "x"]: set stack', 0],
  [{}, "f{2+1}.tif", 'of ["stack_0", "stack_1", "y", "x"]: set stack', 2],
  [{}, "f{0+1}.tif", "dimension y and none for x"],
  [{}, "f{1+1}.tif", "dimension x and none for y"],
  [
    { bands: 3 },
    "f{0+1}.tif",
    'number both, as by "{0}_{1}"',
  ],
  [{ pages: 2 }, "f{-1+1}.tif", 'number both, as by "{1}_{2}", or list'],
  [{}, "f{-2+1}.tif", "dimension y and none for x", true],
  [
    {},
    "f{2+1}.tif",
    'is at [0, 0, 0], where an array of it has the dimensions ["y", "x"]',
  ],
];

for (const [kind, format, expected, stack = false] of KINDS) {
  Deno.test(`adoptTiffs places files of ${JSON.stringify(kind)} by the format ${format}${stack === false ? "" : ` with stack: ${stack}`}`, async () => {
    const store = storeOf({
      "f1.tif": tiffWith(kind, 1),
      "f2.tif": tiffWith(kind, 2),
    });
    const adopt = () => adoptTiffs(store, "a", { ...template(format), stack });
    if (typeof expected === "string") {
      await assertRejects(adopt, RangeError, expected);
      assertEquals((await Array.fromAsync(store.list("/"))).length, 2);
      return;
    }
    const { chunks } = await adopt();
    assertEquals(chunks.metadata.shape, [...expected]);
    const root = zarr.root(withZarrParts(store)).resolve("a");
    const array = await zarr.open(root, { kind: "array" });
    const at = (place: "first" | "last") =>
      zarr.get(
        array,
        expected.map((n) =>
          place === "first" ? zarr.slice(1) : zarr.slice(n - 1, n)
        ),
      ).then(({ data }) => (data as Uint8Array)[0]);
    const { pages = 1, bands = 1 } = kind;
    assertEquals([await at("first"), await at("last")], [
      elementAt(0, 0, 0, 0, 1),
      elementAt(pages - 1, 15, 15, bands - 1, 2),
    ]);
    assertEquals((await verifyAdopted(store, "a")).mismatches, []);
  });
}

Deno.test("adoptTiffs places a single file by a number of its rows alone", async () => {
  const store = storeOf({ "f1.tif": tiffOf(1) });
  const { chunks } = await adoptTiffs(store, "a", template("f{0+1}.tif"));
  assertEquals(chunks.metadata.shape, [16, 16]);
});

Deno.test("adoptZip places files along one dimension, and names the dimensions", async () => {
  for (
    const [format, shape] of [["day_{0+1}.zip", [4, 4, 4]], ["day_{1+1}.zip", [
      2,
      8,
      4,
    ]], ["day_{-1+1}.zip", [2, 4, 8]]] as const
  ) {
    const store = storeOf({ "day_1.zip": cubeOf(1), "day_2.zip": cubeOf(2) });
    const { chunks } = await adoptZip(store, "a", {
      ...template(format),
      dimensionNames: ["day", null, "x"],
    });
    assertEquals(chunks.metadata.shape, [...shape]);
    assertEquals(chunks.metadata.dimension_names, ["day", null, "x"]);
  }
  const store = storeOf({ "day_1.zip": cubeOf(1) });
  for (
    const [dimensionNames, message] of [[
      ["a"],
      "Expected dimensionNames to have one name for each of the 3",
    ], [[
      "a",
      1,
      "b",
    ], "dimension_names"], ["a", "Expected the option"]] as const
  ) {
    await assertRejects(
      () =>
        adoptZip(store, "a", {
          ...template("day_{0+1}.zip"),
          dimensionNames: dimensionNames as never,
        }),
      Error,
    ).then((error) =>
      assertEquals(error.message.includes(message), true, error.message)
    );
  }
  const { chunks } = await adoptZip(store, "a", template("day_{0+1}.zip"));
  assertEquals(chunks.metadata.dimension_names, ["t", "y", "x"]);
});

Deno.test("adoptTiffs and adoptZip refuse names with numbers that no chunk has, and leave out other names", async () => {
  for (
    const [adopt, extension, fileOf] of [[adoptTiffs, ".tif", tiffOf], [
      adoptZip,
      ".zip",
      cubeOf,
    ]] as const
  ) {
    const options = {
      ...template(`z{0*10:03}${extension}`),
      ...adopt === adoptTiffs && { stack: true },
    };
    const store = storeOf({
      [`z000${extension}`]: fileOf(1),
      [`z015${extension}`]: fileOf(2),
      [`y015${extension}`]: fileOf(3),
    });
    await assertRejects(
      () => adopt(store, "a", options),
      RangeError,
      `File "/a/z015${extension}" has 015 at {0*10:03}; expected 010 or 020, as in "z020${extension}": rename the file, name all files by another format, or list those of the array in "files"`,
    );
    await store.delete(`/a/z015${extension}`);
    const { report } = await adopt(store, "a", options);
    assertEquals(report.files, 1);
  }
});

Deno.test("adoptTiffs gives an example of a format for names, and notes on files that do not start at 0", async () => {
  const files = Object.fromEntries(
    [1, 2].flatMap((y) =>
      [10, 20, 30].map((x) => [`y${y}_x${x}.tif`, tiffOf(x)])
    ),
  );
  await assertRejects(
    () => adoptTiffs(storeOf(files), "a"),
    RangeError,
    'such as "template" with the format "y{0+1}_x{1+10}.tif"',
  );
  const { report } = await adoptTiffs(
    storeOf(files),
    "a",
    template("y{0}_x{1}.tif"),
  );
  assertEquals(report.notes, [
    "The first file along dimension 0 has the grid coordinate 1: elements before it have the fill value",
    "The first file along dimension 1 has the grid coordinate 10: elements before it have the fill value",
  ]);
  const right = await adoptTiffs(
    storeOf(files),
    "a",
    template("y{0+1}_x{1*10+10}.tif"),
  );
  assertEquals(right.report.notes, []);
  assertEquals(right.chunks.metadata.shape, [32, 48]);
});

Deno.test("exampleTemplate numbers what varies among names", () => {
  const cases: [string[], string | undefined][] = [
    [["a0.tif", "a1.tif"], "a{0}.tif"],
    [["a01.tif", "a12.tif", "a02.tif"], "a{0+1:02}.tif"],
    [["v2_9.tif", "v2_10.tif"], "v2_{0+9}.tif"],
    [["a{1}.tif", "a{2}.tif"], "a{{{0+1}}}.tif"],
    [["0/1.tif", "1/0.tif", "notes 3.tif"], "{0}/{1}.tif"],
    [["a1.tif"], undefined],
    [["a.tif", "b.tif"], undefined],
    [[], undefined],
  ];
  for (const [names, expected] of cases) {
    assertStrictEquals(exampleTemplate(names), expected, names.join());
    if (expected === undefined) continue;
    new TemplateChunkKeyEncoding(expected).decode(names[0]!);
  }
});
