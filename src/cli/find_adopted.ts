import { walk } from "@std/fs/walk";
import { dirname, relative, resolve, sep } from "node:path";
import {
  type ChunkKeyEncoding,
  SuffixChunkKeyEncoding,
  TemplateChunkKeyEncoding,
} from "../chunk_key_encoding/mod.ts";
import { ChunkKeyError } from "../errors/mod.ts";
import type { StoreKey } from "../stores/mod.ts";
import { UsageError } from "./command.ts";
import { assertPath } from "./open_store.ts";

/** A file of an array. */
interface FileToAdopt {
  readonly key: StoreKey;
  /** The name that gives the coordinates of the file, if names do. */
  readonly name: string;
}

/** The files of an array, and the places of the files and the array. */
export interface FilesToAdopt {
  readonly format: "tiff" | "zip";
  /** The folder of the store. */
  readonly root: string;
  /** The path of the array in the store. */
  readonly path: string;
  readonly encoding: ChunkKeyEncoding;
  /** The encoding of the names; `undefined` if names give no coordinates. */
  readonly named: ChunkKeyEncoding | undefined;
  readonly files: readonly FileToAdopt[];
}

/**
 * Finds the files that an array is made of.
 *
 * @param given Paths of files, or of folders in which files are searched for.
 * @param into The folder of the array.
 * @param options `template`: a format of names; `link`: whether files keep their names and
 * get others beside them.
 * @throws {UsageError} If files lie elsewhere than they may, or have names that do not
 * give their coordinates.
 */
export async function findAdopted(
  given: readonly string[],
  into: string,
  { template, separator, link }: {
    template?: string | undefined;
    separator?: string | undefined;
    link: boolean;
  },
): Promise<FilesToAdopt> {
  for (const place of [...given, into]) assertPath(place);
  const folder = resolve(into);
  const format = template === undefined
    ? undefined
    : new TemplateChunkKeyEncoding(template, separator);
  const { paths, found } = await listFiles(given, template);
  const isSearched = format === undefined && !link;
  // Links that an earlier run made have the names of chunks, and are not adopted again.
  const searched = isSearched || link
    ? found.filter((path) =>
      isSearched ? isChunk(folder, path) : !isLink(folder, path)
    )
    : found;
  const all = [...paths, ...searched];
  if (all.length === 0) {
    const suggestion = isSearched ? await suggest(found, folder, link) : "";
    throw new UsageError(
      `Expected TIFF or zip files, found none in ${
        given.map(quoted).join(", ")
      }${
        isSearched
          ? ` with names such as c/0/1.tif; --template takes other names${suggestion}, and --places or --link with --stack take any names`
          : ""
      }`,
    );
  }
  const kind = formatOf(all);
  if (!link) assertInside(all, folder, into);
  const suffix = new SuffixChunkKeyEncoding(
    extensionOf(all[0]!) ?? (kind === "zip" ? ".zip" : ".tiff"),
  );
  const named = format ?? (link ? undefined : suffix);
  const root = link ? commonFolder([folder, ...all.map(dirname)]) : folder;
  const files: FileToAdopt[] = [];
  const adopted: string[] = [];
  for (const [i, path] of all.entries()) {
    const key: StoreKey = `/${slashed(relative(root, path))}`;
    const name = link
      ? lastSegments(path, template)
      : slashed(relative(folder, path));
    const problem = named && problemOf(named, name);
    if (problem === undefined) {
      files.push({ key, name });
      adopted.push(path);
    } // Folders may hold other files, too, but no chunk with another extension.
    else if (i < paths.length || isSearched || problem.nearest !== undefined) {
      throw misnamed(
        path,
        into,
        format === undefined ? suffix : { format, problem },
        await suggest(all, folder, link),
      );
    }
  }
  if (files.length === 0) {
    throw new UsageError(
      `No file in ${given.map(quoted).join(", ")} fits --template ${
        quoted(template!)
      }: expected names such as ${exampleOf(format!)}${
        found.length === 0
          ? ""
          : `, found files such as ${quoted(found[0]!)}${await suggest(
            found,
            folder,
            link,
          )}`
      }`,
    );
  }
  assertEachAdds(given, adopted, format);
  return {
    format: kind,
    root,
    path: slashed(relative(root, folder)),
    encoding: link ? suffix : named!,
    named,
    files,
  };
}

/** Suggests a template for the names of files. */
export async function suggest(
  paths: readonly string[],
  folder: string,
  link: boolean,
): Promise<string> {
  const { suggestFormat } = await import("../adopt/mod.ts");
  const format = suggestFormat(
    paths.filter((path) => !isChunk(folder, path)).map((path) =>
      link ? lastSegments(path, undefined) : slashed(relative(folder, path))
    ),
  );
  return format === undefined ? "" : `, such as --template '${format}'`;
}

/** Refuses folders of which no file is adopted. */
function assertEachAdds(
  given: readonly string[],
  adopted: readonly string[],
  named: TemplateChunkKeyEncoding | undefined,
): void {
  const files = new Set(adopted);
  const empty = given.find((place) => {
    const path = resolve(place);
    return !files.has(path) &&
      !adopted.some((file) => file.startsWith(withEnd(path)));
  });
  if (empty === undefined) return;
  throw new UsageError(
    `No file in ${quoted(empty)} would be adopted: expected files with ${
      named === undefined
        ? "the names of chunks, such as c/0/1.tif,"
        : `names such as ${exampleOf(named)}`
    } in each folder that is given`,
  );
}

/** An error about a file whose name does not give its coordinates. */
function misnamed(
  path: string,
  into: string,
  names: SuffixChunkKeyEncoding | {
    format: TemplateChunkKeyEncoding;
    problem: ChunkKeyError;
  },
  suggestion: string,
): UsageError {
  if (names instanceof SuffixChunkKeyEncoding) {
    const { suffix } = names;
    return new UsageError(
      `File ${
        quoted(path)
      } does not have the name of a chunk: expected names such as c/0/1${suffix} in ${
        quoted(into)
      }, --template for other names with numbers${
        suggestion || `, such as --template 'row{0}_column{1}${suffix}'`
      }, or --link`,
    );
  }
  const { format, problem } = names;
  return new UsageError(
    `File ${quoted(path)} does not fit --template ${quoted(format.format)}: ${
      problem.nearest === undefined
        ? `expected names such as ${exampleOf(format)}`
        : `it ${problem.problem}, as in ${problem.nearest}`
    }${
      suggestion === "" ? "" : `; the names fit other templates${suggestion}`
    }`,
  );
}

/** Whether a file in the folder of an array has a name such as `c/0/1.tif`. */
function isChunk(folder: string, path: string): boolean {
  return isChunkName(slashed(relative(folder, path)));
}

/** Whether a file in the folder of an array, or of a group of levels, has a name that `--link` or `--multiscale` gives. */
function isLink(folder: string, path: string): boolean {
  const name = slashed(relative(folder, path));
  return isChunkName(name) ||
    isChunkName(name.replace(/^\d+\/(?:data\/)?/, ""));
}

function isChunkName(name: string): boolean {
  const encoding = new SuffixChunkKeyEncoding(extensionOf(name) ?? "");
  return problemOf(encoding, name) === undefined;
}

function extensionOf(path: string): string | undefined {
  return /\.[^./\\]+$/.exec(path)?.[0];
}

function assertInside(
  paths: readonly string[],
  folder: string,
  into: string,
): void {
  const outside = paths.find((path) => {
    const way = relative(folder, path);
    return way === ".." || way.startsWith(`..${sep}`) || resolve(way) === way;
  });
  if (outside === undefined) return;
  throw new UsageError(
    `File ${quoted(outside)} is not in ${
      quoted(into)
    }, the folder of the array: expected --into with a folder that holds the files, or --link, which gives each file a second name there`,
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

/** The end of a path, as many segments as a format has. */
function lastSegments(path: string, template: string | undefined): string {
  const count = template?.split("/").length ?? 1;
  return path.split(sep).slice(-count).join("/");
}

/** The error of a name that an encoding does not decode. */
function problemOf(
  encoding: ChunkKeyEncoding,
  name: string,
): ChunkKeyError | undefined {
  try {
    encoding.decode(name);
    return undefined;
  } catch (error) {
    if (error instanceof ChunkKeyError) return error;
    throw error;
  }
}

function exampleOf(encoding: ChunkKeyEncoding): string {
  for (let rank = 1; rank < 6; rank++) {
    try {
      return encoding.encode(Array.from({ length: rank }, (_, i) => i));
    } catch {
      // The format is for another number of dimensions.
    }
  }
  return JSON.stringify(encoding.toJSON());
}

/** A path with `/` between names, as in keys. */
function slashed(path: string): string {
  return path.replaceAll(sep, "/");
}

function quoted(text: string): string {
  return JSON.stringify(text);
}

/** The formats of files, by the ends of their names. */
const FORMATS = [
  { format: "zip", extension: /\.zip$/i },
  { format: "tiff", extension: /\.(?:tiff?|btf|tf8)$/i },
] as const;

/**
 * Lists the files of given paths.
 *
 * @param given Paths of files and folders.
 * @param template The format of names, whose extension selects the files of folders.
 * @returns The paths of given files, and the paths of files in given folders in the order of
 * {@linkcode compareNames}.
 */
export async function listFiles(
  given: readonly string[],
  template: string | undefined,
): Promise<{ paths: string[]; found: string[] }> {
  const [paths, found]: [string[], string[]] = [[], []];
  const extension = /\.[^.{}/]*$/.exec(template ?? "")?.[0];
  const isOfFormat = (name: string) =>
    extension === undefined
      ? FORMATS.some(({ extension }) => extension.test(name))
      : name.endsWith(extension);
  for (const each of given) {
    const path = resolve(each);
    const info = await Deno.stat(path).catch((error) => {
      if (error instanceof Deno.errors.NotFound) return undefined;
      throw error;
    });
    if (info === undefined) {
      throw new Error(`There is no file or folder ${JSON.stringify(each)}`);
    }
    if (!info.isDirectory) {
      paths.push(path);
      continue;
    }
    for await (const file of walk(path, { includeDirs: false })) {
      if (isOfFormat(file.name)) found.push(file.path);
    }
  }
  return { paths, found: found.sort(compareNames) };
}

/** Compares names so that `day2` comes before `day10`. */
export function compareNames(a: string, b: string): number {
  const [ones, others] = [a, b].map((name) => name.split(/([0-9]+)/)) as [
    string[],
    string[],
  ];
  const place = ones.findIndex((text, i) => text !== others[i]);
  const [one, other] = [ones[place], others[place]];
  if (one === undefined || other === undefined) {
    return ones.length - others.length;
  }
  const digits = [one, other].map((text) => text.replace(/^0+/, ""));
  const [left, right] = digits as [string, string];
  const isNumber = place % 2 === 1; // Texts and digits alternate.
  if (isNumber && left.length !== right.length) {
    return left.length - right.length;
  }
  if (isNumber && left !== right) return left < right ? -1 : 1;
  return one < other ? -1 : 1;
}

/** The format of files, by their names. */
function formatOf(paths: readonly string[]): "tiff" | "zip" {
  const isZip = (path: string) => FORMATS[0].extension.test(path);
  const zip = paths.find(isZip);
  const ozx = paths.find((path) => /\.ozx$/i.test(path));
  if (ozx !== undefined) {
    throw new UsageError(
      `File ${
        JSON.stringify(ozx)
      } is an archive of OME-Zarr: inspect, verify, convert and serve read it as it is`,
    );
  }
  if (zip === undefined) return "tiff";
  const other = paths.find((path) => !isZip(path));
  if (other === undefined) return "zip";
  throw new UsageError(
    `Expected files of one format, found ${JSON.stringify(zip)} and ${
      JSON.stringify(other)
    }`,
  );
}
