import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { UsageError } from "../../src/cli/command.ts";
import { placeByColumns, readPlaces } from "../../src/cli/read_places.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { runs } from "../support/runs.ts";

/** Parts of names of files that tables have to quote, and others. */
const namePart = fc.constantFrom(
  ...[
    "a",
    "B",
    "7",
    " ",
    ",",
    ";",
    '"',
    "''",
    "é",
    "图",
    "-",
    "0,1",
    "_x",
    "\t",
  ],
);
const name = fc.array(namePart, { minLength: 1, maxLength: 4 })
  .map((parts) => `f${parts.join("")}.tif`);

/** A table as other programs write them, and what the table says. */
const tables = fc.record({
  names: fc.uniqueArray(name, { minLength: 1, maxLength: 5 }),
  delimiter: fc.constantFrom(",", ";", "\t"),
  end: fc.constantFrom("\n", "\r\n", "\r"),
  hasEnd: fc.boolean(),
  mark: fc.constantFrom("", "\ufeff"),
  header: fc.constantFrom(undefined, "file", "Path", "scene"),
  isQuoted: fc.boolean(),
  column: fc.nat(3),
  rank: fc.integer({ min: 1, max: 3 }),
  numbers: fc.array(fc.oneof(fc.nat(20), fc.maxSafeNat()), {
    minLength: 15,
    maxLength: 15,
  }),
});

Deno.test("readPlaces reads the names and numbers of any table that quotes as RFC 4180 says", async () => {
  await inTempDir(async (folder) => {
    await fc.assert(
      fc.asyncProperty(tables, async (form) => {
        const { names, delimiter, rank, header, column, numbers } = form;
        const place = `${folder}/${crypto.randomUUID()}`;
        await Deno.mkdir(place);
        for (const name of names) {
          await Deno.writeTextFile(`${place}/${name}`, "");
        }
        const cell = (text: string) =>
          form.isQuoted || /[,;\t" ]/.test(text)
            ? `"${text.replaceAll('"', '""')}"`
            : text;
        const rowOf = (file: string, cells: readonly string[]) =>
          cells.toSpliced(Math.min(column, rank), 0, file)
            .map(cell).join(delimiter);
        const expected = names.map((_, i) =>
          numbers.slice(i * rank, i * rank + rank)
        );
        const axes = ["t", "y", "x"].slice(-rank);
        const lines = [
          ...header === undefined ? [] : [rowOf(header, axes)],
          ...names.map((name, i) => rowOf(name, expected[i]!.map(String))),
        ];
        await Deno.writeTextFile(
          `${place}/places.csv`,
          form.mark + lines.join(form.end) + (form.hasEnd ? form.end : ""),
        );
        const places = await readPlaces(`${place}/places.csv`);
        assertEquals(places.header, header && axes);
        assertEquals(
          places.files.map(({ path, numbers }) => [path, numbers]),
          names.map((name, i) => [`${place}/${name}`, expected[i]!]),
        );
      }),
      { numRuns: runs(100), seed: 1 },
    );
  });
});

Deno.test("readPlaces reads any text, or throws a UsageError", async () => {
  const cell = fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom("0", "1", "2") },
    fc.constantFrom(
      ...["a.tif", "file", "y", "", "-1", "1e3", "\u0000", "../", "/"],
      ...['"', '"a.tif"', "a.tif/b"],
    ),
  );
  const row = fc.tuple(fc.constantFrom("a.tif", "b.tif"), cell, cell)
    .map((cells) => cells.join(","));
  const text = fc.tuple(
    fc.constantFrom("", "file,y,x\n", "\ufeff", "y,file,x\n"),
    fc.array(row, { maxLength: 3 }),
    fc.nat(40),
    fc.constantFrom("", "", ",", ";", "\t", "\n", "\r", '"', " ", "\ufeff"),
  ).map(([start, rows, at, insert]) => {
    const text = start + rows.join("\n");
    return text.slice(0, at) + insert + text.slice(at);
  });
  let read = 0;
  await inTempDir(async (folder) => {
    for (const name of ["a.tif", "b.tif"]) {
      await Deno.writeTextFile(`${folder}/${name}`, "");
    }
    const table = `${folder}/places.csv`;
    await fc.assert(
      fc.asyncProperty(text, async (text) => {
        await Deno.writeTextFile(table, text);
        try {
          const places = await readPlaces(table);
          assert(places.files.length > 0);
          for (const { path, numbers } of places.files) {
            assert(path.endsWith(".tif"), path);
            assert(numbers.length > 0 && numbers.every(Number.isSafeInteger));
          }
          read++;
        } catch (error) {
          if (!(error instanceof UsageError)) throw error;
          assert(!error.message.includes("undefined"), error.message);
        }
      }),
      { numRuns: runs(400), seed: 1 },
    );
  });
  assert(read > 0, `read ${read}`);
});

/** The names of columns, the dimensions of files, further names, and the dimension of each column, or `undefined` for an error. */
const COLUMNS: [
  string[] | number,
  (string | null)[],
  (string | null)[] | undefined,
  number[] | undefined,
  boolean?,
][] = [
  [2, ["y", "x"], undefined, [0, 1]],
  [3, ["y", "x"], undefined, undefined],
  [1, ["y", "x"], undefined, undefined],
  [1, ["page", "y", "x"], undefined, [0]],
  [2, ["page", "y", "x"], undefined, undefined],
  [2, ["y", "x", "band"], undefined, [0, 1]],
  [1, ["y", "x"], undefined, [0], false],
  [["y", "x"], ["y", "x"], undefined, [0, 1]],
  [["x", "y"], ["y", "x"], undefined, [1, 0]],
  [["Y"], ["y", "x"], undefined, [0]],
  [["x"], ["y", "x"], undefined, [1]],
  [["row", "x"], ["y", "x"], undefined, [0, 1]],
  [["x", "row"], ["y", "x"], undefined, [1, 0]],
  [["time"], ["y", "x"], undefined, undefined],
  [["time"], ["stack", "y", "x"], undefined, [0]],
  [["x", "time", "y"], ["stack", "y", "x"], undefined, [2, 0, 1]],
  [["time", "x"], ["stack", "y", "x"], undefined, [0, 2]],
  [["a", "b"], ["stack", "y", "x"], undefined, undefined],
  [["y", "y"], ["y", "x"], undefined, undefined],
  [["lon", "lat"], ["y", "x"], ["lat", "lon"], [1, 0]],
  [["lon", "lat"], ["y", "x"], undefined, [0, 1]],
  [["y", "lat"], ["y", "x"], ["lat", "lon"], undefined],
  [["day"], [null, null, null], undefined, [0], false],
  [["x"], ["t", "y", "x"], undefined, [2], false],
  [["y", "z"], ["y"], undefined, undefined, false],
];

Deno.test("placeByColumns assigns columns by their names, and others to the dimensions that are left", () => {
  for (
    const [columns, defaults, names, expected, isPicture = true] of COLUMNS
  ) {
    const header = typeof columns === "number" ? undefined : columns;
    const count = header?.length ?? columns as number;
    const numbers = Array.from({ length: count }, (_, i) => i + 1);
    const files = [{ path: "/a.tif", numbers }];
    const place = () =>
      placeByColumns(
        { table: "t.csv", header, files },
        defaults,
        names,
        isPicture,
      );
    if (expected === undefined) {
      let message = "";
      try {
        place();
      } catch (error) {
        assert(error instanceof UsageError);
        message = error.message;
      }
      assert(
        message.includes("expected one column for each"),
        `${columns}: ${message}`,
      );
      continue;
    }
    const { coordinates, dimensionNames } = place();
    const wanted = new Array(defaults.length).fill(0);
    expected.forEach((dimension, i) => wanted[dimension] = i + 1);
    assertEquals(coordinates, [wanted], `${columns}`);
    assertEquals(
      dimensionNames,
      header && defaults.map((name, i) => header[expected.indexOf(i)] ?? name),
    );
  }
});
