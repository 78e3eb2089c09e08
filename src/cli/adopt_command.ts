import type {
  AdoptedArray,
  AdoptedPyramid,
  AdoptionOptions,
} from "../adopt/mod.ts";
import { FileSystemStore } from "../stores/mod.ts";
import { findAdopted } from "./adopted_files.ts";
import {
  type Arguments,
  type Command,
  type Io,
  UsageError,
  wholeNumber,
} from "./command.ts";
import { bytesText, ProgressLine, shapeText, unitsText } from "./format.ts";
import { withFolder } from "./error_output.ts";
import { assertTarget, stateOf } from "./open_store.ts";
import { printJson } from "./outputs.ts";

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
    const found = await findAdopted(args, into);
    const { format, root, path, files } = found;
    for (const name of ["stack", "page", "multiscale"]) {
      if (format === "zip" && args.has(name)) {
        throw new UsageError(`--${name} is for TIFFs only`);
      }
    }
    if (format === "tiff" && args.has("array")) {
      throw new UsageError("--array is for zip files only");
    }
    const page = wholeNumber(args, "page", 0);
    const progress = new ProgressLine(io, args.has("quiet"));
    const options: AdoptionOptions = {
      link: found.link,
      overwrite: args.has("overwrite"),
      dryRun: args.has("dry-run"),
      signal: io.signal,
      onProgress: ({ done, total }) => progress.update(done, total),
    };
    const store = new FileSystemStore(root);
    const { adoptArray, adoptLevels, pyramidFormat, tiffFormat, zipFormat } =
      await import("../adopt/mod.ts");
    try {
      if (args.has("multiscale")) {
        const format = pyramidFormat(path, { page });
        const levels = await adoptLevels(store, path, format, files, options);
        progress.clear();
        report(levels, args, into, io);
      } else {
        const adopted = format === "zip"
          ? await adoptArray(
            store,
            path,
            zipFormat(args.text("array") ?? ""),
            files,
            options,
          )
          : await adoptArray(store, path, tiffFormat({ page }), files, options);
        progress.clear();
        report(adopted, args, into, io);
      }
      return 0;
    } catch (error) {
      progress.clear();
      // A run removes its indexes only if all of them are new.
      const isNew = ["overwrite", "dry-run"].every((name) => !args.has(name));
      if (io.signal.aborted && isNew) {
        io.note(
          "The new indexes are removed: run the same command again to start over\n",
        );
      }
      if (format === "zip" && files.keys.length === 1 && !io.signal.aborted) {
        io.note(
          "adopt takes zip files that are shards of one array; inspect, verify, convert and serve read an archive of whole arrays as it is\n",
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
      throw new UsageError(
        `${
          JSON.stringify(place)
        } is an array or a group of Zarr v2: use zarr-parts migrate ${place}`,
      );
    }
  }
}

/** Prints what became of an array of files, or of the levels of a pyramid. */
function report(
  adopted: AdoptedArray | AdoptedPyramid,
  args: Arguments,
  into: string,
  io: Io,
): void {
  const isPyramid = "levels" in adopted;
  if (args.has("json")) {
    return printJson(
      io,
      "adopt",
      isPyramid
        ? {
          levels: adopted.levels.map((
            { path, chunks: { metadata }, report },
          ) => ({ path, ...report, metadata })),
          attributes: adopted.attributes,
          notes: adopted.notes,
        }
        : { ...adopted.report, metadata: adopted.chunks.metadata },
    );
  }
  if (args.has("quiet")) return;
  const levels = isPyramid ? adopted.levels : [{ path: "", ...adopted }];
  const { files, notes } = levels[0]!.report;
  const done = args.has("dry-run") ? "would be adopted" : "adopted";
  const count = isPyramid ? `, with ${unitsText(levels.length, "level")}` : "";
  io.print(`${unitsText(files, "file")} ${done} into ${into}${count}`);
  for (const { path, chunks: { metadata }, report } of levels) {
    const { innerChunks, indexBytes, missingFiles } = report;
    io.print(
      `  ${isPyramid ? `${path}: ` : ""}${
        shapeText(metadata.shape)
      } elements, ${unitsText(innerChunks, "inner chunk")}, indexes of ${
        bytesText(indexBytes)
      }`,
    );
    if (missingFiles === 0) continue;
    const [have, whose] = missingFiles === 1
      ? ["has", "its"]
      : ["have", "their"];
    io.print(
      `  ${
        unitsText(missingFiles, "place")
      } ${have} no file: ${whose} elements have the fill value`,
    );
  }
  for (const note of isPyramid ? adopted.notes : notes) io.print(`  ${note}`);
}
