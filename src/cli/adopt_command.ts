import { walk } from "@std/fs/walk";
import { basename, dirname, relative, resolve, sep } from "node:path";
import {
  type Adopted,
  adoptFiles,
  exampleOf,
  exampleTemplate,
  type FileFormat,
  type FilesToAdopt,
  nameProblem,
  placeByName,
  type Placement,
  stackNames,
  tiffFormat,
  zipFormat,
} from "../adopt/mod.ts";
import {
  type ChunkKeyEncoding,
  SuffixChunkKeyEncoding,
  TemplateChunkKeyEncoding,
} from "../chunk_key_encoding/mod.ts";
import type { ChunkKeyError } from "../errors/mod.ts";
import { FileSystemStore, type StoreKey } from "../stores/mod.ts";
import {
  type Arguments,
  type Command,
  type Result,
  UsageError,
  usageError,
  wholeNumber,
} from "./command.ts";
import { withFolder } from "./error_output.ts";
import {
  bytesText,
  compareNames,
  quoted,
  shapeText,
  unitsText,
} from "./format.ts";
import { assertPath, assertTarget, stateOf } from "./open_store.ts";
import type { Outputs } from "./outputs.ts";

/** `zarr-parts adopt FILES… --into PATH` */
export const ADOPT: Command = {
  name: "adopt",
  operands: ["FILES…"],
  operandsWith: { places: [] },
  summary:
    "Makes an array of TIFF or zip files without changing them: writes an index beside each file, and the zarr.json of the array. FILES may be folders. Most uses need --into, --template, --link, --stack or --dry-run.",
  options: { "--into <PATH>": "the folder of the array" },
  groups: {
    "Layout:": {
      "--template <FORMAT>":
        "the format of the file names, such as row{0}_column{1}.tif; {0+1} counts from 1, {0*10} by 10; by default, names such as c/0/1.tif",
      "--places <CSV>":
        "a table of files and their grid coordinates, such as tile.tif,0,1, in place of FILES; implies --link",
      "--link":
        "also give each file the name of its chunk, by a hard link in the folder of the array",
      "--stack":
        "make each TIFF one element along a new first dimension, in the order given; along several new dimensions if --dimension-names t,z,y,x or the header of --places names more than the files have",
      "--dimension-names <NAMES>":
        "the names of the dimensions, such as time,y,x; a name may be empty",
    },
    "Containers:": {
      "--multiscale":
        "make a group whose arrays 0, 1 and so on are the pages of the TIFFs and their overviews; implies --link",
      "--page <N>":
        "adopt only this page of each TIFF, counted from 0; by default, all pages",
      "--array <PATH>": "the path of the array inside the zips",
    },
    "Safety:": {
      "--overwrite": "replace existing indexes and zarr.json",
      "--dry-run": "print what would be done, and write nothing",
    },
  },
  exclusive: [["places", "template"]],
  examples: [
    "zarr-parts adopt survey/*.tif --into survey --template 'row{0}_column{1}.tif'",
    "zarr-parts adopt scene.tif --into scene.zarr --link",
    "zarr-parts adopt cog.tif --into cog.zarr --multiscale",
    "zarr-parts adopt downloads/*.tif --into days.zarr --link --stack",
    "zarr-parts adopt survey --into survey --template '{0}_{1}.zip' --dry-run",
    "zarr-parts adopt maps --into maps --stack --template 'prec_{0+1:02}.tif'",
    "zarr-parts adopt --places places.csv --into days.zarr --stack",
  ],
  async run(args, io) {
    const into = args.text("into");
    await assertNoV2(args.operands);
    if (into === undefined) {
      throw new UsageError(
        "Expected --into=PATH with the folder of the array, found none",
      );
    }
    await assertTarget(into);
    const { format, root, path, files, link } = await findAdopted(args, into);
    const [other, others] = format === "zip"
      ? ["TIFFs", ["stack", "page", "multiscale"]]
      : ["zip files", ["array"]];
    const misplaced = others.find((name) => args.has(name));
    if (misplaced !== undefined) {
      throw new UsageError(`--${misplaced} is for ${other} only`);
    }
    const page = wholeNumber(args, "page");
    const pyramid = args.has("multiscale") && { pyramid: { path } };
    const adopt = <F>(format: FileFormat<F>) =>
      adoptFiles(new FileSystemStore(root), path, format, files, {
        link,
        overwrite: args.has("overwrite"),
        dryRun: args.has("dry-run"),
        signal: io.signal,
        onProgress: io.progress,
      });
    try {
      const adopted = format === "zip"
        ? await adopt(zipFormat(args.text("array") ?? ""))
        : await adopt(tiffFormat({ page, ...pyramid }));
      return reportOf(adopted, args, into);
    } catch (error) {
      // A run removes its indexes only if all of them are new.
      const isNew = !args.has("overwrite") && !args.has("dry-run");
      if (io.signal.aborted && isNew) {
        io.note(
          "The new indexes are removed: run the same command again to start over",
        );
      }
      if (format === "zip" && files.keys.length === 1 && !io.signal.aborted) {
        io.note(
          "adopt takes zip files that are shards of one array; inspect, verify, convert and serve read an archive of whole arrays as it is",
        );
      }
      throw withFolder(error, root);
    }
  },
};

/** Refuses an array or a group of Zarr v2, and names the command for it. */
async function assertNoV2(operands: readonly string[]): Promise<void> {
  for (const place of operands) {
    for (const name of [".zarray", ".zgroup"]) {
      if (await stateOf(`${place}/${name}`) === undefined) continue;
      const found = quoted(place);
      throw new UsageError(
        `${found} is an array or a group of Zarr v2: use zarr-parts migrate ${place}`,
      );
    }
  }
}

/** Says what became of an array of files, or of the levels of a pyramid. */
function reportOf(
  { levels, attributes, notes }: Adopted,
  args: Arguments,
  into: string,
): Result {
  const isPyramid = attributes !== undefined;
  const outputs = levels.map(({ path, chunks: { metadata }, report }) => ({
    ...isPyramid && { path },
    ...report,
    metadata,
  }));
  const output: Outputs["adopt"] = isPyramid
    ? { levels: outputs, attributes, notes }
    : outputs[0]!;
  const { files } = levels[0]!.report;
  const done = args.has("dry-run") ? "would be adopted" : "adopted";
  const count = isPyramid ? `, with ${unitsText(levels.length, "level")}` : "";
  return {
    output,
    lines: [
      `${unitsText(files, "file")} ${done} into ${into}${count}`,
      ...levels.flatMap(({ path, chunks: { metadata: { shape } }, report }) => {
        const name = isPyramid ? `${path}: ` : "";
        const inner = unitsText(report.innerChunks, "inner chunk");
        const indexes = `indexes of ${bytesText(report.indexBytes)}`;
        const missing = unitsText(report.missingFiles, "place");
        const [have, their] = report.missingFiles === 1
          ? ["has", "its"]
          : ["have", "their"];
        return [
          `  ${name}${shapeText(shape)} elements, ${inner}, ${indexes}`,
          ...report.missingFiles === 0 ? [] : [
            `  ${missing} ${have} no file: ${their} elements have the fill value`,
          ],
        ];
      }),
      ...notes.map((note) => `  ${note}`),
    ],
  };
}

/**
 * Finds the files that an array is made of, the folder of their store with the path of the
 * array in it, and what places the files: a template of their names, a table, or their order
 * in a stack.
 *
 * @param into The folder of the array.
 * @throws {UsageError} If files lie elsewhere than they may, or nothing says their places.
 */
async function findAdopted(args: Arguments, into: string) {
  const table = args.text("places");
  const tables = table === undefined
    ? undefined
    : await import("./read_places.ts");
  const places = await tables?.readPlaces(table!);
  /** Whether files get the names of their chunks, too. */
  const link = ["link", "multiscale", "places"].some((name) => args.has(name));
  const given = places?.files.map(({ path }) => path) ?? args.operands;
  for (const place of [...given, into]) assertPath(place);
  const folder = resolve(into);
  const template = args.text("template");
  const named = template === undefined
    ? undefined
    : new TemplateChunkKeyEncoding(template);
  const depth = template?.split("/").length ?? 1;
  /** The part of a path that a template names: all below the folder of the array, or as many names as the template has. */
  const nameOf = (path: string) =>
    link
      ? path.split(sep).slice(-depth).join("/")
      : slashed(relative(folder, path));
  const isAdopted = (path: string) => {
    // Links that an earlier run made have the names of chunks, and are not adopted again.
    if (link && isChunk(folder, path)) return false;
    if (named === undefined) return link || isChunk(folder, path);
    const problem = nameProblem(named, nameOf(path));
    return problem === undefined || problem.nearest !== undefined;
  };
  const paths: string[] = [];
  for (const place of given) {
    const all = await filesAt(place);
    const isFolder = all !== undefined;
    const adopted = isFolder ? all.filter(isAdopted) : [resolve(place)];
    if (isFolder && adopted.length === 0) throw nothingIn(place, named, all);
    paths.push(...adopted);
  }
  const format = formatOf(paths);
  const outside = paths.find((path) => !path.startsWith(withEnd(folder)));
  if (!link && outside !== undefined) {
    throw usageError`File ${outside} is not in ${into}, the folder of the array: expected --into with a folder that holds the files, or --link, which gives each file a second name there`;
  }
  const suffix = new SuffixChunkKeyEncoding(
    extensionOf(paths[0]!) || (format === "zip" ? ".zip" : ".tiff"),
  );
  const byName = named ?? (link ? undefined : suffix);
  const names = paths.map(nameOf);
  for (const [i, name] of names.entries()) {
    const problem = byName && nameProblem(byName, name);
    if (problem) throw misnamed(paths[i]!, byName, problem, names);
  }
  if (!byName && !places && !args.has("stack") && paths.length > 1) {
    const count = unitsText(paths.length, "file");
    throw new UsageError(
      `Expected --template${
        suggest(names)
      }, --places or --stack, which say the places of ${count} in the array`,
    );
  }
  const dimensionNames = args.text("dimension-names")?.split(",")
    .map((name) => name.trim() || null);
  const isPicture = format === "tiff";
  const place = (own: readonly (string | null)[]): Placement => {
    // As many new dimensions as there are further names, or columns of no dimension.
    const further = dimensionNames
      ? dimensionNames.length - own.length
      : places?.header?.filter((name) => !own.includes(name.toLowerCase()))
        .length ?? 1;
    const stack = args.has("stack") ? Math.max(further, 1) : 0;
    const all = [...stackNames(stack), ...own];
    const placed = places
      ? tables!.placeByColumns(places, all, dimensionNames, isPicture)
      : byName
      ? { coordinates: placeByName(byName, names, all, isPicture) }
      : {
        coordinates: names.map((_, i) => all.map((_, n) => n === 0 ? i : 0)),
        notes: notesOnOrder(names),
      };
    return { ...placed, stack, ...dimensionNames && { dimensionNames } };
  };
  const root = link ? commonFolder([folder, ...paths.map(dirname)]) : folder;
  const files: FilesToAdopt = {
    keys: paths.map((path): StoreKey => `/${slashed(relative(root, path))}`),
    encoding: link ? suffix : byName!,
    place,
  };
  return { format, root, path: slashed(relative(root, folder)), link, files };
}

/** Returns a note on files in the order of shells, which sort `day10` before `day2`. Any other order is meant. */
function notesOnOrder(names: readonly string[]): string[] {
  const sorted = names.toSorted(compareNames);
  const place = names.findIndex((name, i) => name !== sorted[i]);
  const isOfShell = names.every((name, i) => i === 0 || names[i - 1]! < name);
  if (place < 0 || !isOfShell) return [];
  const pair = `${quoted(names[place]!)} before ${quoted(sorted[place]!)}`;
  const template = `--template${suggest(names)}`;
  return [
    `The files are stacked in the order given, ${pair}: give their folder for the order of their numbers, or ${template}`,
  ];
}

/** The formats of files, by the ends of their names. */
const ZIP = /\.zip$/i;
const TIFF = /\.(?:tiff?|btf|tf8)$/i;

/** Lists the TIFF and zip files in a folder; `undefined` for a file. */
async function filesAt(place: string): Promise<string[] | undefined> {
  const info = await stateOf(place);
  if (info === undefined) {
    throw new Error(`There is no file or folder ${quoted(place)}`);
  }
  if (!info.isDirectory) return undefined;
  const files: string[] = [];
  for await (const { path } of walk(resolve(place), { includeDirs: false })) {
    if (ZIP.test(path) || TIFF.test(path)) files.push(path);
  }
  return files.sort(compareNames);
}

/** Whether a file has a name such as `c/0/1.tif` in the folder of an array, or in one of a group of levels. */
function isChunk(folder: string, path: string): boolean {
  const name = slashed(relative(folder, path));
  const encoding = new SuffixChunkKeyEncoding(extensionOf(name));
  return [name, name.replace(/^\d+\/(?:data\/)?/, "")]
    .some((each) => nameProblem(encoding, each) === undefined);
}

/** The error for a folder without files that are to be adopted. */
function nothingIn(
  place: string,
  named: TemplateChunkKeyEncoding | undefined,
  present: readonly string[],
): UsageError {
  const names = present.map((path) => basename(path));
  const found = names.length === 0
    ? "found no TIFF or zip files"
    : `found files such as ${quoted(names[0]!)}`;
  const [folder, template] = [quoted(place), suggest(names)];
  if (named !== undefined) {
    const names = `${exampleOf(named)}, ${found}${template}`;
    const format = `--template ${quoted(named.format)}`;
    return new UsageError(
      `No file in ${folder} fits ${format}: expected names such as ${names}`,
    );
  }
  return new UsageError(
    `Expected files in ${folder} with names such as c/0/1.tif, ${found}; --template takes other names${template}, and --places or --link with --stack take any names`,
  );
}

/** Says a template that fits names. */
function suggest(names: readonly string[]): string {
  const format = exampleTemplate(names);
  return format === undefined ? "" : `, such as --template '${format}'`;
}

/** The error for a file whose name does not give its coordinates. */
function misnamed(
  path: string,
  encoding: ChunkKeyEncoding,
  { nearest, problem }: ChunkKeyError,
  names: readonly string[],
): UsageError {
  const isTemplate = encoding instanceof TemplateChunkKeyEncoding;
  const does = isTemplate
    ? `fit --template ${quoted(encoding.format)}`
    : "have the name of a chunk";
  const expected = nearest === undefined
    ? `expected names such as ${exampleOf(encoding)}`
    : `it ${problem}, as in ${nearest}`;
  const advice = isTemplate
    ? suggest(names)
    : `, --template for other names with numbers, or --link${suggest(names)}`;
  return new UsageError(
    `File ${quoted(path)} does not ${does}: ${expected}${advice}`,
  );
}

/** The innermost folder that holds all folders. */
function commonFolder(folders: readonly string[]): string {
  return folders.reduce((common, folder) => {
    while (folder !== common && !folder.startsWith(withEnd(common))) {
      common = dirname(common);
    }
    return common;
  });
}

function withEnd(folder: string): string {
  return folder.endsWith(sep) ? folder : folder + sep;
}

/** The format of files, by their names. */
function formatOf(paths: readonly string[]): "tiff" | "zip" {
  const ozx = paths.find((path) => /\.ozx$/i.test(path));
  if (ozx !== undefined) {
    throw usageError`File ${ozx} is an archive of OME-Zarr: inspect, verify, convert and serve read it as it is`;
  }
  const zip = paths.find((path) => ZIP.test(path));
  const other = paths.find((path) => !ZIP.test(path));
  if (zip === undefined) return "tiff";
  if (other === undefined) return "zip";
  throw usageError`Expected files of one format, found ${zip} and ${other}`;
}

function extensionOf(path: string): string {
  return /\.[^./\\]+$/.exec(path)?.[0] ?? "";
}

/** A path with `/` between names, as in keys. */
function slashed(path: string): string {
  return path.replaceAll(sep, "/");
}
