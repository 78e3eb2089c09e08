import type {
  AdoptedArray,
  AdoptedPyramid,
  AdoptionOptions,
  AdoptPyramidOptions,
} from "../adopt/mod.ts";
import { FileSystemStore, type Store } from "../stores/mod.ts";
import {
  type Arguments,
  type Command,
  type Io,
  UsageError,
  wholeNumber,
} from "./command.ts";
import { bytesText, ProgressLine, shapeText, unitsText } from "./format.ts";
import {
  findFiles,
  type FoundFiles,
  noteText,
  placeFiles,
  stackOf,
  withAdvice,
} from "./place_files.ts";
import { withFolder } from "./error_output.ts";
import { stateOf } from "./open_store.ts";
import { printJson } from "./outputs.ts";

/** `zarr-parts adopt FILES… --into PATH` */
export const ADOPT: Command = {
  name: "adopt",
  operands: ["FILES…"],
  operandsWith: { places: [] },
  summary:
    "Makes an array of TIFF or zip files without changing them: writes an index beside each file, and the zarr.json of the array. FILES may be folders.",
  options: {
    "--into <PATH>": "the folder of the array",
    "--template <FORMAT>":
      "the format of the file names, such as row{0}_column{1}.tif; {0+1} counts from 1, {0*10} by 10; by default, names such as c/0/1.tif",
    "--separator <TEXT>":
      "the separator between the coordinates of {*} in --template",
    "--link":
      "also give each file the name of its chunk, by a hard link in the folder of the array",
    "--places <CSV>":
      "a table of files and their grid coordinates, such as tile.tif,0,1, in place of FILES; implies --link",
    "--dimension-names <NAMES>":
      "the names of the dimensions, such as time,y,x; a name may be empty",
    "--multiscale":
      "make a group whose arrays 0, 1 and so on are the pages of the TIFFs and their overviews; implies --link",
    "--stack":
      "make each TIFF one element along a new first dimension, in the order given; along several new dimensions if --dimension-names t,z,y,x or the header of --places names more than the files have",
    "--page <N>":
      "adopt only this page of each TIFF, counted from 0; by default, all pages",
    "--series <N>":
      "adopt this image of OME-XML, counted from 0, or the hyperstack of ImageJ, with its dimensions t, c and z; by default, --multiscale adopts the only image",
    "--overview <N>":
      "adopt this overview in place of the page, counted from 1, the largest",
    "--fill-value <NUMBER>": "the value of elements that are in no TIFF",
    "--array <PATH>": "the path of the array inside the zips",
    "--overwrite": "replace existing indexes and zarr.json",
    "--dry-run": "print what would be done, and write nothing",
  },
  exclusive: [
    ["multiscale", "overview"],
    ["page", "series"],
    ["places", "template"],
    ["places", "separator"],
  ],
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
    const isMultiscale = args.has("multiscale");
    const found = await findFiles(args, into);
    const progress = new ProgressLine(io, args.has("quiet"));
    const options: AdoptionOptions = {
      link: found.link,
      overwrite: args.has("overwrite"),
      dryRun: args.has("dry-run"),
      signal: io.signal,
      onProgress: ({ done, total }) => progress.update(done, total),
    };
    const store = new FileSystemStore(found.root);
    const isZip = found.format === "zip";
    if (isMultiscale && isZip) {
      throw new UsageError("--multiscale is for TIFFs only");
    }
    const adopt = isZip ? adoptZips : isMultiscale ? adoptLevels : adoptTiffs;
    const adopted = await adopt(store, found, args, options)
      .catch((error) => {
        // A run removes its indexes only if all of them are new.
        const isNew = ["overwrite", "dry-run"]
          .every((name) => !args.has(name));
        if (io.signal.aborted && isNew) {
          io.note(
            "The new indexes are removed: run the same command again to start over\n",
          );
        }
        if (isZip && found.files.length === 1 && !io.signal.aborted) {
          io.note(
            "adopt takes zip files that are shards of one array; inspect, verify, convert and serve read an archive of whole arrays as it is\n",
          );
        }
        throw withFolder(error, found.root);
      })
      .finally(() => progress.clear());
    const { notes } = "levels" in adopted ? adopted : adopted.report;
    const allNotes = await withAdvice(notes, found);
    if ("levels" in adopted) {
      reportLevels({ ...adopted, notes: allNotes }, args, into, io);
    } else {
      const report = { ...adopted.report, notes: allNotes };
      reportArray({ ...adopted, report }, args, into, io);
    }
    return 0;
  },
};

/** Refuses an array or a group of Zarr v2, and names the command for it. */
async function assertNoV2(operands: readonly string[]): Promise<void> {
  for (const place of operands) {
    for (const name of [".zarray", ".zgroup"]) {
      if (await stateOf(`${place}/${name}`) === undefined) continue;
      throw new UsageError(
        `${
          JSON.stringify(place)
        } is an array or a group of Zarr v2: use zarr-parts migrate ${place}`,
      );
    }
  }
}

function reportArray(
  { chunks, report }: AdoptedArray,
  args: Arguments,
  into: string,
  io: Io,
): void {
  const { metadata } = chunks;
  if (args.has("json")) {
    return printJson(io, "adopt", { ...report, metadata });
  }
  if (args.has("quiet")) return;
  const { files, missingFiles, innerChunks, indexBytes, notes } = report;
  const done = args.has("dry-run") ? "would be adopted" : "adopted";
  io.print(`${unitsText(files, "file")} ${done} into ${into}`);
  io.print(
    `  ${shapeText(metadata.shape)} elements, ${
      unitsText(innerChunks, "inner chunk")
    }, indexes of ${bytesText(indexBytes)}`,
  );
  if (missingFiles > 0) io.print(missingText(missingFiles));
  for (const note of notes) io.print(noteText(note));
}

function missingText(count: number): string {
  const [have, whose] = count === 1 ? ["has", "its"] : ["have", "their"];
  return `  ${
    unitsText(count, "place")
  } ${have} no file: ${whose} elements have the fill value`;
}

function reportLevels(
  { levels, attributes, notes }: AdoptedPyramid,
  args: Arguments,
  into: string,
  io: Io,
): void {
  if (args.has("json")) {
    const arrays = levels.map(({ path, chunks: { metadata }, report }) => ({
      path,
      ...report,
      metadata,
    }));
    return printJson(io, "adopt", { levels: arrays, attributes, notes });
  }
  if (args.has("quiet")) return;
  const { report } = levels[0]!;
  const done = args.has("dry-run") ? "would be adopted" : "adopted";
  io.print(
    `${unitsText(report.files, "file")} ${done} into ${into}, with ${
      unitsText(levels.length, "level")
    }`,
  );
  for (const { path, chunks, report } of levels) {
    const { innerChunks, indexBytes, missingFiles } = report;
    io.print(
      `  ${path}: ${shapeText(chunks.metadata.shape)} elements, ${
        unitsText(innerChunks, "inner chunk")
      }, indexes of ${bytesText(indexBytes)}`,
    );
    if (missingFiles > 0) io.print(missingText(missingFiles));
  }
  for (const note of notes) io.print(noteText(note));
}

async function adoptTiffs(
  store: Store,
  found: FoundFiles,
  args: Arguments,
  options: AdoptionOptions,
): Promise<AdoptedArray> {
  const { adoptTiffs } = await import("../adopt/mod.ts");
  const overview = wholeNumber(args, "overview", 0);
  return await adoptTiffs(store, found.path, {
    ...options,
    ...await tiffOptions(store, found, args, overview),
    overview,
  });
}

/** The options of adoptions of TIFFs, with the places of the files. */
async function tiffOptions(
  store: Store,
  found: FoundFiles,
  args: Arguments,
  overview: number | undefined,
): Promise<Omit<AdoptPyramidOptions, keyof AdoptionOptions>> {
  if (args.has("array")) throw new UsageError("--array is for zip files only");
  const { dimensionsOfTiff } = await import("../tiff/mod.ts");
  const [page, series] = ["page", "series"].map((name) =>
    wholeNumber(args, name, 0)
  );
  const isPyramid = args.has("multiscale");
  const selection = { page, series, overview, isPyramid };
  const { key } = found.files[0]!;
  const own = await dimensionsOfTiff(store, key, selection);
  const stack = stackOf(found, args, own);
  const placed = await placeFiles(
    found,
    args,
    (key) => dimensionsOfTiff(store, key, { ...selection, stack }),
  );
  return {
    ...placed,
    chunkKeyEncoding: found.encoding,
    stack,
    page,
    series,
    fillValue: numberOf(args, "fill-value"),
  };
}

async function adoptLevels(
  store: Store,
  found: FoundFiles,
  args: Arguments,
  { link: _, ...options }: AdoptionOptions,
): Promise<AdoptedPyramid> {
  const { adoptPyramid } = await import("../adopt/mod.ts");
  return await adoptPyramid(store, found.path, {
    ...options,
    ...await tiffOptions(store, found, args, undefined),
  });
}

async function adoptZips(
  store: Store,
  found: FoundFiles,
  args: Arguments,
  options: AdoptionOptions,
): Promise<AdoptedArray> {
  for (const name of ["stack", "page", "series", "overview", "fill-value"]) {
    if (args.has(name)) throw new UsageError(`--${name} is for TIFFs only`);
  }
  const { adoptZip } = await import("../adopt/mod.ts");
  const { dimensionsOfZip } = await import("../zip/mod.ts");
  const array = args.text("array") ?? "";
  const placed = await placeFiles(
    found,
    args,
    (key) => dimensionsOfZip(store, key, array),
  );
  return await adoptZip(store, found.path, {
    ...options,
    ...placed,
    chunkKeyEncoding: found.encoding,
    array,
  });
}

/** A number, as a bigint where only that is exact. */
function numberOf(args: Arguments, name: string): number | bigint | undefined {
  const text = args.text(name);
  if (text === undefined) return undefined;
  const number = text.trim() === "" ? NaN : Number(text);
  if (Number.isNaN(number) && text !== "NaN") {
    throw new UsageError(
      `Expected --${name} with a number, found ${JSON.stringify(text)}`,
    );
  }
  const isLong = /^-?\d+$/.test(text) && !Number.isSafeInteger(number);
  return isLong ? BigInt(text) : number;
}
