import type { Command } from "./command.ts";
import {
  assertReplaceable,
  copyWatched,
  FILE_PARTS_OPTIONS,
  filePartsOf,
  reportParts,
} from "./file_parts.ts";

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
    const { file, joined, key, paths } = filePartsOf(args, path, name);
    await assertReplaceable(args, paths, [path]);
    const { signal } = io;
    const size = await joined.size(key, { signal });
    const stream = await joined.stream(key);
    if (size === undefined || stream === undefined) {
      throw new Error(
        `There are no parts: expected ${
          paths.map((each) => JSON.stringify(each)).join(", ")
        }`,
      );
    }
    const write = (stream: ReadableStream<Uint8Array>) =>
      file.store.set(file.key, stream, { signal });
    await copyWatched(stream, { path, size }, write, args, io);
    await reportParts(`${path} joined`, size, paths, args, io);
    return 0;
  },
};
