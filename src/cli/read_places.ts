import { parse } from "csv-parse/sync";
import { statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Placement } from "../adopt/mod.ts";
import { UsageError } from "./command.ts";
import { quoted, unitsText } from "./format.ts";
import { assertPath } from "./open_store.ts";

/** The files of an array and their places, by a table. */
export interface Places {
  /** The path of the table, as it was given. */
  readonly table: string;
  /** The names of the columns of coordinates, if the table has a header. */
  readonly header: readonly string[] | undefined;
  /** The files, with the numbers of their lines in the order of columns. */
  readonly files: readonly {
    readonly path: string;
    readonly numbers: readonly number[];
  }[];
}

/** A record of a table, and the line that it ends at. */
interface Row {
  readonly cells: readonly string[];
  readonly line: number;
}

/** The names of a column of files in a header. */
const FILE_COLUMNS = ["file", "filename", "path"];

/**
 * Reads a table of files and their grid coordinates: lines of CSV, with commas, semicolons
 * or tabs between the cells, and with or without a header. One column has the paths of
 * files, relative to the table, and all others are coordinates.
 *
 * @param table The path of the table.
 * @throws {UsageError} If the table cannot be read, or a line is not that of a file.
 */
export async function readPlaces(table: string): Promise<Places> {
  assertPath(table);
  const rows = await readRows(table);
  const [top] = rows;
  const header = top?.cells.some(isNumber) ? undefined : top?.cells;
  const [first, ...others] = header ? rows.slice(1) : rows;
  if (first === undefined) {
    throw problem(
      table,
      "it has no line with a file; expected lines such as tile.tif,0,1 with the path of a file and its grid coordinates",
    );
  }
  const column = fileColumn(header, first, table);
  const width = top!.cells.length;
  const files = [first, ...others].map(({ cells, line }) => {
    if (cells.length !== width) {
      const text = `has ${cells.length} cells, where line ${top!.line}`;
      throw problem(table, `line ${line} ${text} has ${width}`);
    }
    const wrong = cells.findIndex((cell, i) => i !== column && !isNumber(cell));
    if (wrong >= 0) {
      const name = header ? quoted(header[wrong]!) : wrong + 1;
      const text = `has ${quoted(cells[wrong]!)} in the column ${name}`;
      throw problem(
        table,
        `line ${line} ${text}; expected a grid coordinate, a whole number from 0 on, in each column but that of the files: leave out other columns`,
      );
    }
    return {
      path: pathOf(cells[column]!, table, line),
      numbers: cells.toSpliced(column, 1).map(Number),
    };
  });
  return { table, header: header?.toSpliced(column, 1), files };
}

/** Reads the records of a table, without those whose cells are all empty. */
async function readRows(table: string): Promise<Row[]> {
  const bytes = await Deno.readFile(table).catch((error) => {
    throw problem(
      table,
      error instanceof Deno.errors.NotFound
        ? "there is no such file"
        : error instanceof Deno.errors.IsADirectory
        ? "it is a folder, expected a CSV file"
        : error.message,
    );
  });
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    const records = parse(text, {
      delimiter: [",", ";", "\t"],
      info: true,
      relax_column_count: true,
      skip_empty_lines: true,
      skip_records_with_empty_values: true,
      trim: true,
    }) as unknown as { record: string[]; info: { lines: number } }[];
    return records.map(({ record: cells, info: { lines: line } }) => ({
      cells,
      line,
    }));
  } catch (error) {
    const { message } = error as Error;
    throw problem(table, `it is not CSV in UTF-8: ${message}`);
  }
}

/** Finds the column of files: that with such a name, or the only one that has no number. */
function fileColumn(
  header: readonly string[] | undefined,
  { cells, line }: Row,
  table: string,
): number {
  const columnsOf = (cells: readonly string[], isFile: typeof isNumber) =>
    cells.flatMap((cell, i) => isFile(cell) ? [i] : []);
  const named = columnsOf(
    header ?? [],
    (name) => FILE_COLUMNS.includes(name.toLowerCase()),
  );
  const [column, second] = named.length > 0
    ? named
    : columnsOf(cells, (cell) => !isNumber(cell));
  if (column !== undefined && second === undefined && cells.length > 1) {
    return column;
  }
  const found = cells.map(quoted).join(", ");
  throw problem(
    table,
    `line ${line} has the cells ${found}; expected the path of one file, in a column "file" if there is a header, and its grid coordinates, such as tile.tif,0,1`,
  );
}

/** The path of a file that a line names. */
function pathOf(file: string, table: string, line: number): string {
  assertPath(file);
  const path = resolve(dirname(table), file);
  const state = statSync(path, { throwIfNoEntry: false });
  if (state?.isFile()) return path;
  const text = state
    ? "which is a folder"
    : "where there is no file; paths are relative to the folder of the table";
  throw problem(table, `line ${line} names ${quoted(file)}, ${text}`);
}

function isNumber(cell: string): boolean {
  return /^\d+$/.test(cell) && Number.isSafeInteger(Number(cell));
}

/**
 * Assigns the columns of a table to the dimensions of an array: by their names, and others
 * to the dimensions that are left, in order.
 *
 * @param defaults The names of the dimensions of the files.
 * @param names The names that the user gives to the dimensions.
 * @param isPicture Whether the dimensions are those of TIFFs, `y` and `x` among them.
 * @throws {UsageError} If there are too many columns, or only one of `y` and `x` has one.
 */
export function placeByColumns(
  { table, header, files }: Places,
  defaults: readonly (string | null)[],
  names: readonly (string | null)[] | undefined,
  isPicture: boolean,
): Omit<Placement, "stack"> {
  const { numbers } = files[0]!;
  const columns = header ?? numbers.map(() => "");
  const known = defaults.map((name, i) =>
    [names?.[i], name].map((each) => each?.toLowerCase())
  );
  const dimensions = columns.map((column) =>
    known.findIndex((names) => column && names.includes(column.toLowerCase()))
  );
  const free = defaults.flatMap((_, i) => dimensions.includes(i) ? [] : [i]);
  const twice = dimensions.some((each, i) =>
    each >= 0 && dimensions.indexOf(each) < i
  );
  const taken = dimensions.map((each) => each < 0 ? free.shift() ?? -1 : each);
  const [y, x] = ["y", "x"].map((name) => defaults.indexOf(name));
  // The names of the columns give only rows, only columns, or the place in a stack.
  const isGuess = isPicture &&
    [[y, x], [x, y]].some(([one, other]) =>
      taken.includes(one!) && !taken.includes(other!) &&
      !dimensions.includes(one!)
    );
  if (twice || isGuess || taken.includes(-1)) {
    const found = `${unitsText(columns.length, "column")} of grid coordinates`;
    const given = header ? `, ${header.map(quoted).join(", ")}` : "";
    const all = defaults.map((name) => quoted(name ?? "")).join(", ");
    throw problem(
      table,
      `it has ${found}${given}, where an array of the files has the dimensions ${all}; expected one column for each, by their names in a header or in this order, or --stack for a new first dimension`,
    );
  }
  const coordinates = files.map(({ numbers }) => {
    const place = defaults.map(() => 0);
    taken.forEach((dimension, i) => place[dimension] = numbers[i]!);
    return place;
  });
  const dimensionNames = header &&
    defaults.map((name, i) => header[taken.indexOf(i)] || name);
  return { coordinates, dimensionNames };
}

function problem(table: string, text: string): UsageError {
  return new UsageError(`Cannot use --places ${quoted(table)}: ${text}`);
}
