import type { Adopted, AdoptionOptions } from "../adopt/mod.ts";
import { FileSystemStore } from "../stores/mod.ts";
import { findAdopted } from "./adopted_files.ts";
import {
  type Arguments,
  type Command,
  type Result,
  UsageError,
  wholeNumber,
} from "./command.ts";
import { withFolder } from "./error_output.ts";
import { bytesText, quoted, shapeText, unitsText } from "./format.ts";
import { assertTarget, stateOf } from "./open_store.ts";
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
    const options: AdoptionOptions = {
      link,
      overwrite: args.has("overwrite"),
      dryRun: args.has("dry-run"),
      signal: io.signal,
      onProgress: io.progress,
    };
    const adopt = await import("../adopt/mod.ts");
    const place = [new FileSystemStore(root), path] as const;
    try {
      const pyramid = args.has("multiscale") && { pyramid: { path } };
      const adopted = format === "zip"
        ? adopt.adoptFiles(
          ...place,
          adopt.zipFormat(args.text("array") ?? ""),
          files,
          options,
        )
        : adopt.adoptFiles(
          ...place,
          adopt.tiffFormat({ page, ...pyramid }),
          files,
          options,
        );
      return reportOf(await adopted, args, into);
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
