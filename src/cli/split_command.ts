import type { Command } from "./command.ts";
import {
  assertReplaceable,
  copyWatched,
  FILE_PARTS_OPTIONS,
  filePartsOf,
  reportParts,
} from "./file_parts.ts";

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
    const name = args.text("to") ?? path;
    const { file, joined, key, paths } = filePartsOf(args, path, name);
    await assertReplaceable(args, [path], paths);
    const { signal } = io;
    const [size, stream] = await Promise.all([
      file.store.size(file.key, { signal }),
      file.store.stream(file.key),
    ]);
    if (size === undefined || stream === undefined) {
      throw new Error(`There is no file ${JSON.stringify(path)}`);
    }
    const write = (stream: ReadableStream<Uint8Array>) =>
      joined.set(key, stream, { signal });
    await copyWatched(stream, { path, size }, write, args, io);
    await reportParts(`${path} split`, size, paths, args, io);
    return 0;
  },
};
