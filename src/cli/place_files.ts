import { join } from "node:path";
import type { TiffFile } from "../adopt/mod.ts";
import type { StoreKey } from "../stores/mod.ts";
import { type Arguments, UsageError } from "./command.ts";
import {
  compareNames,
  type FilesToAdopt,
  findAdopted,
  suggest,
} from "./find_adopted.ts";
import { unitsText } from "./format.ts";
import type { Places } from "./read_places.ts";

/** The files of an array, and the table of their places, if there is one. */
export interface FoundFiles extends FilesToAdopt {
  /** Whether files get the names of their chunks, too. */
  readonly link: boolean;
  readonly places: Places | undefined;
}

/** Finds the files that the arguments name. */
export async function findFiles(
  args: Arguments,
  into: string,
): Promise<FoundFiles> {
  const table = args.text("places");
  const places = table === undefined
    ? undefined
    : await (await import("./read_places.ts")).readPlaces(table);
  const link = ["link", "multiscale", "places"].some((name) => args.has(name));
  const given = places?.files.map(({ path }) => path) ?? args.operands;
  const found = await findAdopted(given, into, {
    template: args.text("template"),
    separator: args.text("separator"),
    link,
  });
  return { ...found, link, places };
}

/**
 * The number of new first dimensions along which TIFFs are stacked: as many as there are
 * more names than dimensions, or names of columns that are not those of dimensions.
 *
 * @param own The names of the dimensions of a file.
 */
export function stackOf(
  { places }: FoundFiles,
  args: Arguments,
  own: readonly string[],
): number {
  if (!args.has("stack")) return 0;
  const names = dimensionNamesOf(args);
  const count = names === undefined
    ? places?.header?.filter((name) => !own.includes(name.toLowerCase())).length
    : names.length - own.length;
  return Math.max(count ?? 1, 1);
}

function dimensionNamesOf(args: Arguments): (string | null)[] | undefined {
  return args.text("dimension-names")
    ?.split(",").map((name) => name.trim() || null);
}

/** Files at their grid coordinates, and the names of the dimensions, if they are not those of the files. */
interface PlacedFiles {
  readonly files: readonly TiffFile[];
  readonly dimensionNames: readonly (string | null)[] | undefined;
}

/**
 * Gives files their grid coordinates: those of a table or of their names, or in their order
 * in a stack, or those of a single file.
 *
 * @param dimensionsOf Returns the names of the dimensions of an array of a file.
 */
export async function placeFiles(
  { files, named, places, root, path, format }: FoundFiles,
  args: Arguments,
  dimensionsOf: (key: StoreKey) => Promise<readonly (string | null)[]>,
): Promise<PlacedFiles> {
  const isPicture = format === "tiff";
  const dimensionNames = dimensionNamesOf(args);
  if (named !== undefined) {
    const { placeByName } = await import("../adopt/mod.ts");
    const placed = await placeByName(named, files, dimensionsOf, isPicture);
    return { files: placed, dimensionNames };
  }
  const defaults = await dimensionsOf(files[0]!.key);
  if (places !== undefined) {
    const { placeByColumns } = await import("./read_places.ts");
    const placed = placeByColumns(places, defaults, dimensionNames, isPicture);
    return {
      files: files.map(({ key }, i) => ({
        key,
        coordinates: placed.coordinates[i]!,
      })),
      dimensionNames: dimensionNames ?? placed.dimensionNames,
    };
  }
  const rank = defaults.length;
  if (rank > 0 && files.length > 1 && !args.has("stack")) {
    const paths = files.map(({ key }) => join(root, key));
    throw new UsageError(
      `Expected --template${await suggest(
        paths,
        join(root, path),
        true,
      )}, --places or --stack, which say the places of ${
        unitsText(files.length, "file")
      } in the array`,
    );
  }
  return {
    files: files.map(({ key }, i) => ({
      key,
      coordinates: Array.from({ length: rank }, (_, n) => n === 0 ? i : 0),
    })),
    dimensionNames,
  };
}

/** Adds notes on the order of files, and a template that numbers linked files otherwise. */
export async function withAdvice(
  notes: readonly string[],
  { named, link, places, files, root, path }: FoundFiles,
): Promise<readonly string[]> {
  if (named === undefined && places === undefined) {
    const place = files.findIndex(({ name }, i) =>
      i > 0 && compareNames(files[i - 1]!.name, name) > 0
    );
    const [before, after] = files.slice(place - 1, place + 1);
    // Shells sort names so. Any other order is meant.
    const isSorted = files.every(({ key }, i) =>
      i === 0 || files[i - 1]!.key < key
    );
    if (place < 0 || !isSorted) return notes;
    const paths = files.map(({ key }) => join(root, key));
    const suggestion = await suggest(paths, join(root, path), true);
    return [
      ...notes,
      `The files are stacked in the order given, ${
        JSON.stringify(before!.name)
      } before ${
        JSON.stringify(after!.name)
      }: give their folder for the order of their numbers${
        suggestion === "" ? "" : `, or --template${suggestion}`
      }`,
    ];
  }
  if (notes.length === 0 || named === undefined || !link) return notes;
  const { notesOnStarts } = await import("../adopt/mod.ts");
  const all = files.map(({ name }) => ({ coordinates: named.decode(name) }));
  const { length } = notesOnStarts(all);
  return [...notes, ...notesOnStarts(all, named).slice(length)];
}

/** A note in the terms of the command line. */
export function noteText(note: string): string {
  return `  ${
    note.replace(/^The format "(.*)" gives/, "--template '$1' gives")
  }`;
}
