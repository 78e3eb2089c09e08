import type { Command } from "./command.ts";
import { copyFiles, reportParts } from "./copy_files.ts";
import { FILE_PARTS_OPTIONS, filePartsOf } from "./file_parts.ts";

/** `zarr-parts split FILE` */
export const SPLIT: Command = {
  name: "split",
  operands: ["FILE"],
  summary:
    "Splits a file into parts, which appear together at the end. The file stays.",
  options: {
    to: {
      type: "string",
      value: "NAME",
      help: "the start of the names of the parts; FILE if not given",
    },
    ...FILE_PARTS_OPTIONS,
  },
  examples: [
    "zarr-parts split shard.bin --parts .header:64,.data,.index:1024",
    "zarr-parts split shard.bin --to c/0/0 --parts ,.index:1024,.crc32c --crc32c",
  ],
  async run(args, io) {
    const [path] = args.operands as [string];
    const { file, parts } = filePartsOf(args, path, args.text("to") ?? path);
    const size = await copyFiles(file, parts, path, args, io);
    await reportParts(`${path} split`, size, parts.paths, args, io);
    return 0;
  },
};
