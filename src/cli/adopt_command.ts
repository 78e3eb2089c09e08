import type { AdoptedArray } from "../adoption/adopted_array.ts";
import type { AdoptionOptions } from "../adoption/adoption_options.ts";
import { FileSystemStore } from "../stores/file_system/file_system_store.ts";
import {
  type Arguments,
  type Command,
  type Io,
  UsageError,
} from "./command.ts";
import { adoptFound } from "./adopt_found.ts";
import { findAdopted } from "./find_adopted.ts";
import { bytesText, jsonText, shapeText, unitsText } from "./format.ts";
import { ProgressLine } from "./progress.ts";
import {
  ALL_SHARES,
  FINISH_OPTION,
  SHARE_ONLY_OPTIONS,
  shareOf,
} from "./share_option.ts";
import { withFolder } from "./with_folder.ts";

/** `zarr-parts adopt FILES… --into PATH` */
export const ADOPT: Command = {
  name: "adopt",
  operands: ["FILES…"],
  summary:
    "Makes an array of TIFF or zip files, which stay as they are: writes an index\nbeside each file, and the zarr.json of the array. FILES may be folders.",
  options: {
    into: { type: "string", value: "PATH", help: "the folder of the array" },
    template: {
      type: "string",
      value: "FORMAT",
      help:
        "the names of the files, such as row{0}_column{1}.tif; if not given, c/0/1.tif and the like",
    },
    separator: {
      type: "string",
      value: "TEXT",
      help: "between the coordinates of {*} in --template",
    },
    link: {
      type: "boolean",
      help:
        "give each file the name of its chunk, too, by a hard link in the folder of the array",
    },
    stack: {
      type: "boolean",
      help:
        "make each TIFF one element of a new first dimension, in the order given",
    },
    page: {
      type: "string",
      value: "N",
      help: "one page of each TIFF, from 0; all if not given",
    },
    overview: {
      type: "string",
      value: "N",
      help: "an overview in place of the page, from 1, the largest",
    },
    "fill-value": {
      type: "string",
      value: "NUMBER",
      help: "the value of elements that no TIFF has",
    },
    array: {
      type: "string",
      value: "PATH",
      help: "the path of the array inside the zips",
    },
    overwrite: { type: "boolean", help: "replace indexes and zarr.json" },
    "dry-run": { type: "boolean", help: "say what would be done" },
    ...FINISH_OPTION,
    ...SHARE_ONLY_OPTIONS,
  },
  exclusive: [["share", "finish"]],
  examples: [
    "zarr-parts adopt survey/*.tif --into survey --template 'row{0}_column{1}.tif'",
    "zarr-parts adopt scene.tif --into scene.zarr --link",
    "zarr-parts adopt downloads/*.tif --into days.zarr --link --stack",
    "zarr-parts adopt survey --into survey --template '{0}_{1}.zip' --dry-run",
  ],
  async run(args, io) {
    const into = args.text("into");
    if (into === undefined) {
      throw new UsageError(
        "Expected --into=PATH with the folder of the array, found none",
      );
    }
    const link = args.has("link");
    const found = await findAdopted(args.operands, into, {
      template: args.text("template"),
      separator: args.text("separator"),
      link,
    });
    const progress = new ProgressLine(io, args.has("quiet"));
    const share = shareOf(args, io);
    const options: AdoptionOptions = {
      link,
      overwrite: args.has("overwrite"),
      dryRun: args.has("dry-run"),
      finish: args.has("finish"),
      ...share && { share },
      signal: io.signal,
      onProgress: ({ done, total }) => progress.update(done, total),
    };
    const store = new FileSystemStore(found.root);
    const adopted = await adoptFound(store, found, args, options)
      .catch((error) => {
        // Indexes that were replaced stay, and some runs write none.
        const isNew = ["overwrite", "dry-run", "finish"]
          .every((name) => !args.has(name));
        if (io.signal.aborted && isNew) {
          io.note(
            "The new indexes are removed: run the same command again to start over\n",
          );
        }
        throw withFolder(error, found.root);
      })
      .finally(() => progress.clear());
    report(adopted, share !== undefined, args, into, io);
    return 0;
  },
};

function report(
  { chunks, report }: AdoptedArray,
  isShare: boolean,
  args: Arguments,
  into: string,
  io: Io,
): void {
  const { metadata } = chunks;
  if (args.has("json")) return io.print(jsonText({ ...report, metadata }));
  if (args.has("quiet")) return;
  const { files, missingFiles, innerChunks, indexBytes, notes } = report;
  const done = args.has("dry-run") ? "would be adopted" : "adopted";
  io.print(`${unitsText(files, "file")} ${done} into ${into}`);
  io.print(
    `  ${shapeText(metadata.shape)} elements, ${
      unitsText(innerChunks, "inner chunk")
    }, indexes of ${bytesText(indexBytes)}`,
  );
  if (missingFiles > 0) {
    const [have, whose] = missingFiles === 1
      ? ["has", "its"]
      : ["have", "their"];
    io.print(
      `  ${
        unitsText(missingFiles, "place")
      } ${have} no file: ${whose} elements have the fill value`,
    );
  }
  for (const note of notes) io.print(`  ${note}`);
  if (isShare && !args.has("dry-run")) io.print(ALL_SHARES);
}
