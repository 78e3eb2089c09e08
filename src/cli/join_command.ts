import type { Command } from "./command.ts";
import { copyFiles, reportParts } from "./copy_files.ts";
import { FILE_PARTS_OPTIONS, filePartsOf } from "./file_parts.ts";

/** `zarr-parts join NAME` */
export const JOIN: Command = {
  name: "join",
  operands: ["NAME"],
  summary:
    "Joins the parts whose names start with NAME to a file, which appears at the end.\nThe parts stay.",
  options: {
    to: {
      type: "string",
      value: "FILE",
      help: "the file that is written; NAME if not given",
    },
    ...FILE_PARTS_OPTIONS,
  },
  examples: [
    "zarr-parts join shard.bin --parts .header:64,.data,.index:1024",
    "zarr-parts join c/0/0 --to shard.bin --parts ,.index:1024,.crc32c --crc32c",
  ],
  async run(args, io) {
    const [name] = args.operands as [string];
    const path = args.text("to") ?? name;
    const { file, parts } = filePartsOf(args, path, name);
    const size = await copyFiles(parts, file, path, args, io);
    await reportParts(`${path} joined`, size, parts.paths, args, io);
    return 0;
  },
};
