import { CsvError, parse } from "csv-parse/sync";
import { statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { UsageError } from "./command.ts";
import { quoted } from "./format.ts";
import { assertPath } from "./open_store.ts";

/** The files of an array and their places, by a table. */
export interface Places {
  /** The path of the table, as it was given. */
  readonly table: string;
  /** The names of the columns of coordinates, if the table has a header. */
  readonly header: readonly string[] | undefined;
  readonly files: readonly PlacedPath[];
}

/** A file, and its place by a line of a table. */
interface PlacedPath {
  readonly path: string;
  readonly line: number;
  /** The numbers of the line, in the order of columns. */
  readonly numbers: readonly number[];
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
  const rows = parseTable(await readText(table), table);
  const [top] = rows;
  const isHeader = top !== undefined && !top.cells.some(isNumber);
  const header = isHeader ? top.cells : undefined;
  const lines = isHeader ? rows.slice(1) : rows;
  if (lines.length === 0) {
    throw problem(
      table,
      "it has no line with a file; expected lines such as tile.tif,0,1 with the path of a file and its grid coordinates",
    );
  }
  const column = fileColumn(header, lines[0]!, table);
  const width = (top ?? lines[0]!).cells.length;
  const files = lines.map(({ cells, line }): PlacedPath => {
    if (cells.length !== width) {
      throw problem(
        table,
        `line ${line} has ${cells.length} cells, where line ${
          top!.line
        } has ${width}`,
      );
    }
    const numbers = cells.flatMap((cell, i) => {
      if (i === column) return [];
      if (isNumber(cell)) return [Number(cell)];
      throw problem(
        table,
        `line ${line} has ${quoted(cell)} in the column ${
          header ? quoted(header[i]!) : i + 1
        }; expected a grid coordinate, a whole number from 0 on${
          header
            ? ", in each column but that of the files: leave out other columns"
            : ""
        }`,
      );
    });
    const file = cells[column]!;
    const path = pathOf(file, table, line);
    return { path, line, numbers };
  });
  const names = header?.filter((_, i) => i !== column);
  return { table, header: names, files };
}

async function readText(table: string): Promise<string> {
  const bytes = await Deno.readFile(table).catch((error) => {
    if (error instanceof Deno.errors.NotFound) {
      throw problem(table, "there is no such file");
    }
    if (error instanceof Deno.errors.IsADirectory) {
      throw problem(table, "it is a folder, expected a CSV file");
    }
    throw error;
  });
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw problem(table, "it is not text in UTF-8");
  }
}

/** Parses the records of a table, without those whose cells are all empty. */
function parseTable(text: string, table: string): Row[] {
  try {
    const records = parse(text, {
      delimiter: [",", ";", "\t"],
      info: true,
      relax_column_count: true,
      skip_empty_lines: true,
      skip_records_with_empty_values: true,
      trim: true,
    }) as unknown as { record: string[]; info: { lines: number } }[];
    return records.map(({ record, info }) => ({
      cells: record,
      line: info.lines,
    }));
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw problem(table, `it is not CSV: ${error.message}`);
  }
}

/** Finds the column of files: that with such a name, or the only one that has no number. */
function fileColumn(
  header: readonly string[] | undefined,
  { cells, line }: Row,
  table: string,
): number {
  const named =
    header?.flatMap((name, i) =>
      FILE_COLUMNS.includes(name.toLowerCase()) ? [i] : []
    ) ?? [];
  const others = cells.flatMap((cell, i) => isNumber(cell) ? [] : [i]);
  const [column, second] = named.length > 0 ? named : others;
  if (column !== undefined && second === undefined && cells.length > 1) {
    return column;
  }
  throw problem(
    table,
    `line ${line} has the cells ${
      cells.map(quoted).join(", ")
    }; expected the path of one file, in a column ${
      quoted(FILE_COLUMNS[0]!)
    } if there is a header, and its grid coordinates, such as tile.tif,0,1`,
  );
}

/** The path of a file that a line names. */
function pathOf(file: string, table: string, line: number): string {
  assertPath(file);
  const path = resolve(dirname(table), file);
  const state = statSync(path, { throwIfNoEntry: false });
  if (state?.isFile()) return path;
  throw problem(
    table,
    `line ${line} names ${quoted(file)}, ${
      state
        ? "which is a folder"
        : "where there is no file; paths are relative to the folder of the table"
    }`,
  );
}

function isNumber(cell: string): boolean {
  return /^\d+$/.test(cell) && Number.isSafeInteger(Number(cell));
}

/** The places of the files of a table in an array. */
interface PlacedRows {
  readonly coordinates: readonly (readonly number[])[];
  /** The names of the dimensions, by the header of the table. */
  readonly dimensionNames: readonly (string | null)[] | undefined;
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
): PlacedRows {
  const { numbers: { length: count } } = files[0]!;
  const rank = defaults.length;
  const columns = header ?? new Array<string>(count).fill("");
  const known = defaults.map((name, i) =>
    [names?.[i], name].map((each) => each?.toLowerCase())
  );
  const dimensions = columns.map((column) =>
    column === ""
      ? -1
      : known.findIndex((names) => names.includes(column.toLowerCase()))
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
    throw problem(
      table,
      `it has ${count} ${
        count === 1 ? "column" : "columns"
      } of grid coordinates${
        header ? `, ${header.map(quoted).join(", ")}` : ""
      }, where an array of the files has the dimensions ${
        defaults.map((name) => quoted(name ?? "")).join(", ")
      }; expected one column for each, by their names in a header or in this order${
        isPicture && !defaults[0]?.startsWith("stack")
          ? ", or --stack for a new first dimension"
          : ""
      }`,
    );
  }
  const coordinates = files.map(({ numbers }) => {
    const place = new Array<number>(rank).fill(0);
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
