import { type Conversion, convert, MARKER } from "../jobs/mod.ts";
import type { Store } from "../stores/mod.ts";
import type { Arguments, Command, Io } from "./command.ts";
import { convertFolder, NOT_IN_PLACE } from "./convert_folder.ts";
import { printLayouts, printOthers } from "./draw_array.ts";
import { bytesText, countText, jsonText, ProgressLine } from "./format.ts";
import { containerOf, layoutOf, withUsage } from "./layout_arguments.ts";
import {
  assertSource,
  assertTarget,
  openStore,
  openWritableStore,
} from "./open_store.ts";
import {
  ALL_SHARES,
  concurrencyOf,
  FINISH_OPTION,
  SHARE_OPTIONS,
  shareOf,
} from "./share_option.ts";

/** `zarr-parts convert SOURCE TARGET` */
export const CONVERT: Command = {
  name: "convert",
  operands: ["SOURCE", "TARGET"],
  operandsWith: { "in-place": ["PATH"] },
  summary:
    "Copies an array or a group, and gives its arrays other chunk keys and parts.\nWhat no option names stays as it is. SOURCE is a path or a URL, and TARGET a\npath or the URL of a bucket.",
  options: {
    suffix: {
      type: "string",
      value: "TEXT",
      help: "the end of all chunk keys, such as .tiff; none with ''",
    },
    encoding: {
      type: "string",
      value: "NAME",
      help: "the chunk key encoding: default, v2 or fanout",
    },
    separator: {
      type: "string",
      value: "TEXT",
      help: "between coordinates in chunk keys: / or .",
    },
    template: {
      type: "string",
      value: "FORMAT",
      help: "chunk keys by a format, such as tile_{0:03}_{1:03}",
    },
    parts: {
      type: "string",
      value: "LIST",
      help:
        "the ends of the keys of the parts of a chunk, with sizes in bytes, such as .header:64,,.index; the sizes of .index and .crc32c follow from the codecs; '-' for none; with .index, arrays without shards in a group keep their layout",
    },
    container: {
      type: "string",
      value: "FORMAT",
      help:
        "make each shard a file of this format, tiff or zip; arrays without shards in a group keep their layout",
    },
    plain: { type: "boolean", help: "plain Zarr, for any other program" },
    metadata: {
      type: "string",
      value: "FILE",
      help: "a zarr.json with any other layout, for one array",
    },
    "in-place": {
      type: "boolean",
      help:
        "change the files of PATH, without a copy; the same command finishes what was stopped",
    },
    resume: {
      type: "boolean",
      help: "continue a conversion that was stopped",
    },
    compare: {
      type: "boolean",
      help: "with --resume, compare all bytes of what is there",
    },
    overwrite: {
      type: "boolean",
      help:
        "remove the array, the group or the unfinished conversion at TARGET first; any other file there is an error",
    },
    "keep-going": {
      type: "boolean",
      help:
        "leave out the nodes of a group that are not valid; the exit status is 1 then",
    },
    "dry-run": { type: "boolean", help: "say what would be done" },
    ...FINISH_OPTION,
    ...SHARE_OPTIONS,
  },
  exclusive: [
    ["template", "encoding"],
    ["resume", "overwrite"],
    ["share", "finish"],
    ["share", "overwrite"],
    ["finish", "overwrite"],
    ...NOT_IN_PLACE.map((name) => ["in-place", name] as const),
  ],
  examples: [
    "zarr-parts convert data.zarr parts.zarr --suffix .shard --parts ,.index",
    "zarr-parts convert https://example.com/data.zarr copy.zarr --plain",
    "zarr-parts convert a.zarr b.zarr --container tiff --parts ,.index",
    "zarr-parts convert --in-place data.zarr --parts ,.index",
    "zarr-parts convert data.zarr tiles.zarr --template 'tile_{1:03}_{0:03}.raw'",
  ],
  async run(args, io) {
    if (args.has("in-place")) return await convertFolder(args, io);
    const [from, to] = args.operands as [string, string];
    const [source, target] = [openStore(from), openWritableStore(to)];
    await assertSource(from);
    await assertTarget(to);
    const layout = { ...await layoutOf(args), ...await containerOf(args) };
    const progress = new ProgressLine(io, args.has("quiet"));
    const share = shareOf(args, io);
    const concurrency = concurrencyOf(args);
    let hasBegun = false;
    try {
      const conversion = await convert(source, target, {
        ...layout,
        ...share && { share },
        ...concurrency && { concurrency },
        ...args.has("resume") || args.has("compare")
          ? { resume: args.has("compare") ? "compare" : true }
          : {},
        overwrite: args.has("overwrite"),
        keepGoing: args.has("keep-going"),
        dryRun: args.has("dry-run"),
        finish: args.has("finish"),
        signal: io.signal,
        onProgress({ done, total, bytes }) {
          hasBegun = true;
          progress.update(done, total, bytes);
        },
      });
      progress.clear();
      report(conversion, args, to, io);
      return conversion.leftOut.length > 0 ? 1 : 0;
    } catch (error) {
      progress.clear();
      // With --finish, the error says which chunks are missing.
      const isWorking = (hasBegun || io.signal.aborted) && !args.has("finish");
      const again = share ? "again" : "with --resume";
      if (isWorking) await explain(target, to, again, io);
      throw withUsage(error);
    }
  },
};

function report(
  conversion: Conversion,
  args: Arguments,
  target: string,
  io: Io,
): void {
  if (args.has("json")) return io.print(jsonText(conversion));
  if (args.has("quiet")) return;
  const { arrays, total, copied, skipped, bytes, isFinished } = conversion;
  if (args.has("dry-run")) {
    printLayouts(arrays, io);
    printOthers(conversion, { isInPlace: false }, io);
    return io.print(
      `${countText(total)} chunks and files would be copied to ${target}`,
    );
  }
  const there = skipped > 0 ? `, ${countText(skipped)} were there` : "";
  io.print(
    `${countText(copied)} chunks and files (${
      bytesText(bytes)
    }) copied to ${target}${there}`,
  );
  printOthers(conversion, { isInPlace: false }, io);
  if (!isFinished) {
    io.print(ALL_SHARES);
  }
}

/** Says how to go on, if the target was left unfinished. */
async function explain(
  target: Store,
  place: string,
  again: string,
  io: Io,
): Promise<void> {
  const marker = await target.get(MARKER).catch(() => undefined);
  if (marker === undefined) return;
  io.note(
    `${place} is not finished: run the same command ${again} to continue\n`,
  );
}
