import {
  type ChunkKeyEncoding,
  TemplateChunkKeyEncoding,
} from "../chunk_key_encoding/mod.ts";
import { ChunkKeyError, describe } from "../errors/mod.ts";
import { greatestDivisor } from "../tiff/mod.ts";
import type { MosaicFile } from "./mosaic.ts";

/**
 * The most places for each number that consecutive numbers may have, and the number of places
 * that is always few, so that dates and other sparse numbers do not count as consecutive.
 */
const MOST_PLACES = 2;
const FEW_PLACES = 16;

/** The most names that are looked at. */
const MOST_NAMES = 10_000;

/** Numbers at one place of names, and the text before and after them. */
interface Run {
  readonly before: string;
  readonly after: string;
  readonly digits: readonly string[];
}

/**
 * Finds a format of a template that most names fit, such as `row{0+1}_column{1+1}.tif`
 * for `row1_column1.tif` and `row2_column1.tif`.
 *
 * Letters of directions decide whether numbers count down: rows go from north to south, as in
 * `N47E007.tif`, and columns from west to east.
 *
 * @param names Names relative to the folder of an array.
 * @returns The format; `undefined` if the names hold no numbers in a row.
 */
export function suggestFormat(names: readonly string[]): string | undefined {
  const alike = mostAlike(names.slice(0, MOST_NAMES));
  const pieces = alike.map((name) => name.split(/([0-9]+)/));
  const [first = [""]] = pieces;
  const runs = Array.from({ length: (first.length - 1) / 2 }, (_, i): Run => ({
    before: first[2 * i]!,
    after: first[2 * i + 2]!,
    digits: pieces.map((each) => each[2 * i + 1]!),
  }));
  const { row, column, isDown } = meaningOf(runs);
  const isGrid = row >= 0 && column >= 0;
  const numbered = runs.filter((run, i) =>
    isVarying(run) ||
    isGrid && [row, column].includes(i) &&
      [row, column].some((each) => isVarying(runs[each]!))
  );
  if (numbered.length === 0) return undefined;
  const dimensions = numbered.map((_, i) => i);
  if (isGrid && row === column + 1) {
    const place = numbered.indexOf(runs[column]!);
    if (place >= 0) dimensions.splice(place, 2, place + 1, place);
  }
  let format = escape(first[0]!);
  for (const run of runs) {
    const place = numbered.indexOf(run);
    const text = place < 0
      ? run.digits[0]!
      : placeholder(dimensions[place]!, run, isDown(run));
    if (text === undefined) return undefined;
    format += text + escape(run.after);
  }
  return isFormatOf(format, alike) ? format : undefined;
}

/** The largest group of names that differ in digits alone. */
function mostAlike(names: readonly string[]): string[] {
  const groups = new Map<string, string[]>(); // Node 20 has no Map.groupBy.
  for (const name of names) {
    const form = name.replaceAll(/[0-9]+/g, "0");
    const group = groups.get(form);
    if (group === undefined) groups.set(form, [name]);
    else group.push(name);
  }
  return [...groups.values()].reduce<string[]>(
    (most, group) => group.length > most.length ? group : most,
    [],
  );
}

/** Words beside numbers of rows and of columns, and letters beside degrees, of which some count down. */
const ROWS = { words: "y|rows?|lat", letters: "n|s" };
const COLUMNS = { words: "x|col|columns?|lon", letters: "e|w" };
const DOWN = { words: "", letters: "n|w" };

/** The places of the numbers of rows and columns, and which numbers count down. */
interface Meaning {
  /** -1 if no numbers are those of rows. */
  readonly row: number;
  readonly column: number;
  isDown(run: Run): boolean;
}

/** Finds out what numbers mean by the words before them, as in `N47E007`, or those after them, as in `47N_007E`. */
function meaningOf(runs: readonly Run[]): Meaning {
  const meanings = [isAfter, isBefore].map((isBeside): Meaning => {
    const means = (run: Run, { words, letters }: typeof ROWS) => {
      // Degrees have two digits or more, unlike series and wavelengths (s1_w2).
      const areDegrees = run.digits.every(({ length }) => length > 1);
      return words !== "" && isBeside(run, words) ||
        areDegrees && isBeside(run, letters);
    };
    return {
      row: runs.findIndex((run) => means(run, ROWS)),
      column: runs.findIndex((run) => means(run, COLUMNS)),
      isDown: (run) => means(run, DOWN),
    };
  });
  return meanings.find(({ row, column }) => row >= 0 && column >= 0) ??
    meanings.find(({ row, column }) => row >= 0 || column >= 0) ??
    meanings[0]!;
}

/** Whether numbers come after one of the words. */
function isAfter({ before }: Run, words: string): boolean {
  return new RegExp(`(?:^|[^a-z])(?:${words})[^a-z]?$`, "i").test(before);
}

/** Whether numbers come before one of the words. */
function isBefore({ after }: Run, words: string): boolean {
  return new RegExp(`^(?:${words})(?:[^a-z]|$)`, "i").test(after);
}

function isVarying({ digits }: Run): boolean {
  return new Set(digits).size > 1;
}

/** The placeholder of numbers; `undefined` if they are not numbers in a row. */
function placeholder(
  dimension: number,
  { digits }: Run,
  isDown: boolean,
): string | undefined {
  const width = Math.min(...digits.map(({ length }) => length));
  const numbers = [...new Set(digits.map(Number))].sort((a, b) => a - b);
  const isPadded = digits.some((text) => text.length > 1 && text[0] === "0");
  const isSame = digits.every((text) =>
    text === String(Number(text)).padStart(isPadded ? width : 1, "0")
  );
  const [least, most] = [numbers[0]!, numbers.at(-1)!];
  const gap = numbers.reduce((sum, n) => greatestDivisor(sum, n - least), 0) ||
    1;
  // With two numbers, it is unknown whether those between them are left out.
  const step = numbers.length === 2 && least % gap !== 0 ? 1 : gap;
  const places = (most - least) / step + 1;
  const isSparse = places > Math.max(MOST_PLACES * numbers.length, FEW_PLACES);
  if (!isSame || isSparse) return undefined;
  const [first, signed] = isDown ? [most, -step] : [least, step];
  return `{${dimension}${signed === 1 ? "" : `*${signed}`}${
    first === 0 ? "" : `+${first}`
  }${isPadded ? `:0${width}` : ""}}`;
}

function isFormatOf(format: string, names: readonly string[]): boolean {
  try {
    const encoding = new TemplateChunkKeyEncoding(format);
    for (const name of names) encoding.decode(name);
    return true;
  } catch (error) {
    if (error instanceof RangeError || error instanceof ChunkKeyError) {
      return false;
    }
    throw error;
  }
}

function escape(text: string): string {
  return text.replaceAll(/[{}]/g, "$&$&");
}

/**
 * Returns notes on dimensions along which no file has the grid coordinate 0, or all files
 * leave the same gaps, and the format of a template that numbers these files otherwise.
 *
 * @param encoding The encoding of the names, if the coordinates follow from them.
 */
export function notesOnStarts(
  files: readonly Pick<MosaicFile, "coordinates">[],
  encoding?: ChunkKeyEncoding,
): string[] {
  const all = files.map(({ coordinates }) => coordinates);
  const notes = all[0]!.flatMap((_, dimension) => {
    const { first, gap } = countingOf(all, dimension);
    return [
      ...first > 0
        ? [
          `The first file along dimension ${dimension} has the grid coordinate ${first}: elements before it have the fill value`,
        ]
        : [],
      ...gap > 1
        ? [
          `The files along dimension ${dimension} are ${gap} grid coordinates apart: elements between them have the fill value`,
        ]
        : [],
    ];
  });
  const format = notes.length > 0 && encoding && recount(encoding, all);
  return format
    ? [
      ...notes,
      `The format ${
        describe(format)
      } gives these files grid coordinates from 0 on, without such gaps`,
    ]
    : notes;
}

/** The least coordinate of files along a dimension, and the gap between neighbouring ones; 1 for fewer than three. */
function countingOf(
  coordinates: readonly (readonly number[])[],
  dimension: number,
): { first: number; gap: number } {
  const places = [...new Set(coordinates.map((each) => each[dimension]!))];
  const first = places.reduce((a, b) => Math.min(a, b));
  const gap = places.length < 3
    ? 1
    : places.reduce((sum, c) => greatestDivisor(sum, c - first), 0);
  return { first, gap };
}

/**
 * Changes a template so that the coordinates of files start at 0 and have no gaps that
 * all of them leave.
 *
 * @param coordinates The coordinates of at least one file by the template.
 * @returns The format; `undefined` if the template is right, or cannot be changed.
 */
function recount(
  encoding: ChunkKeyEncoding,
  coordinates: readonly (readonly number[])[],
): string | undefined {
  if (!(encoding instanceof TemplateChunkKeyEncoding)) return undefined;
  const names = coordinates.map((each) => encoding.encode(each));
  const rank = coordinates[0]!.length;
  const format = encoding.format.replaceAll(
    /\{\{|\}\}|\{(-?\d+)(?:\*(-?\d+))?(?:\+(\d+))?(:\d+)?\}/g,
    (text, index, step = "1", first = "0", width = "") => {
      if (index === undefined) return text;
      const dimension = Number(index) < 0 ? rank + Number(index) : +index;
      const { first: least, gap } = countingOf(coordinates, dimension);
      const [from, by] = [+first + step * least, step * gap];
      return `{${index}${by === 1 ? "" : `*${by}`}${
        from === 0 ? "" : `+${from}`
      }${width}}`;
    },
  );
  return format !== encoding.format && isFormatOf(format, names)
    ? format
    : undefined;
}
