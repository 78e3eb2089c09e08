import { dirname, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import {
  type Conversion,
  convert,
  convertInPlace,
  isUnfinished,
  type NodeLocation,
} from "../jobs/mod.ts";
import { FileSystemStore } from "../stores/mod.ts";
import type { Arguments, Command, Io } from "./command.ts";
import {
  CONTAINER_NAMES,
  CONTAINER_OPTIONS,
  containerOf,
} from "./container_arguments.ts";
import { printLayouts, printOthers } from "./draw_array.ts";
import { bytesText, countText, ProgressLine } from "./format.ts";
import {
  chosenNodes,
  layoutOf,
  NODE_OPTION_NAMES,
  NODE_OPTIONS,
  othersOf,
  withUsage,
} from "./layout_arguments.ts";
import {
  assertNoArchive,
  isInArchive,
  openSource,
  SOURCE_OPTIONS,
} from "./open_source.ts";
import {
  assertPath,
  assertSource,
  assertTarget,
  openWritableStore,
  pathOf,
} from "./open_store.ts";
import {
  RECODE_NAMES,
  RECODE_OPTIONS,
  recodingOf,
} from "./recode_arguments.ts";
import {
  ALL_SHARES,
  concurrencyOf,
  FINISH_OPTION,
  SHARE_OPTIONS,
  shareOf,
} from "./share_option.ts";
import { printJson } from "./outputs.ts";

/** The options of `convert` that exclude `--in-place`. */
const NOT_IN_PLACE: readonly string[] = [
  ...CONTAINER_NAMES,
  ...["resume", "compare", "overwrite"],
  ...["finish", "share", "follow-links"],
  ...RECODE_NAMES,
];

/** `zarr-parts convert SOURCE TARGET` */
export const CONVERT: Command = {
  name: "convert",
  operands: ["SOURCE", "TARGET"],
  operandsWith: { "in-place": ["PATH"] },
  summary:
    "Copies an array or a group, and changes the chunk keys, parts, codecs, chunks or shards of its arrays. The layout stays the same where no option changes it. SOURCE is the path or the URL of a folder or a zip archive, and TARGET a path or the URL of a bucket.",
  options: {
    "--suffix <TEXT>":
      "end all chunk keys with this text, such as .tiff; '' for none",
    "--encoding <NAME>": "the chunk key encoding: default, v2 or fanout",
    "--separator <TEXT>": "the separator of coordinates in chunk keys: / or .",
    "--template <FORMAT>":
      "the format of chunk keys, such as tile_{0:03}_{1:03}",
    "--parts <LIST>":
      "divide each chunk into parts: the suffixes of their keys, with sizes in bytes, such as .header:64,,.index; the sizes of .index and .crc32c follow from the codecs; '-' for no parts",
    ...CONTAINER_OPTIONS,
    "--plain":
      "default chunk keys and chunks without parts, which all Zarr programs read",
    ...RECODE_OPTIONS,
    "--metadata <FILE>": "give one array the layout of this zarr.json",
    ...NODE_OPTIONS,
    ...SOURCE_OPTIONS,
    "--others <WHAT>":
      "copy: arrays of a group that cannot get the layout are copied unchanged, and listed",
    "--in-place":
      "change the files of PATH, without a copy; run the same command again to finish a conversion that was stopped",
    "--resume": "continue a conversion that was stopped",
    "--compare":
      "with --resume, compare all bytes of existing chunks with the source",
    "--overwrite":
      "first remove the array, the group or the unfinished conversion at TARGET; any other file at TARGET is an error",
    "--keep-going":
      "leave out invalid nodes of a group; if there are any, the exit status is 1",
    "--dry-run": "print what would be done, and write nothing",
    ...FINISH_OPTION,
    ...SHARE_OPTIONS,
  },
  repeatable: NODE_OPTION_NAMES,
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
    "zarr-parts convert a.zarr b.zarr --codecs zstd:5 --shards 2048,2048",
    "zarr-parts convert a.zarr b.zarr --container tiff --recode --suffix .tif",
    "zarr-parts convert image.ome.zarr small.ome.zarr --exclude 0 --exclude labels",
    "zarr-parts convert --in-place data.zarr --parts ,.index",
    "zarr-parts convert data.zarr tiles.zarr --template 'tile_{1:03}_{0:03}.raw'",
  ],
  async run(args, io) {
    if (args.has("in-place")) return await convertFolder(args, io);
    const [from, to] = args.operands as [string, string];
    const target = await openWritableStore(to);
    const source = await openSource(from, io, {
      followLinks: args.has("follow-links"),
      isQuiet: args.has("quiet"),
    });
    await assertNoArchive(to);
    await assertTarget(to);
    const recoding = recodingOf(args);
    const layout = {
      ...await layoutOf(args),
      ...recoding,
      ...await containerOf(args, recoding.recode, () => locateSource(from)),
    };
    const progress = new ProgressLine(io, args.has("quiet"));
    const share = shareOf(args);
    const concurrency = concurrencyOf(args);
    let hasBegun = false;
    try {
      const conversion = await convert(source, target, {
        ...layout,
        ...chosenNodes(args),
        ...othersOf(args),
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
      const text = `: run the same command ${again} to continue`;
      if (isWorking) await explain({ store: target }, to, text, io);
      throw withUsage(error);
    }
  },
};

/** Prints what was converted, and where it is: `copied to b.zarr`, or `converted in place in a.zarr`. */
function report(
  conversion: Conversion,
  args: Arguments,
  place: string,
  io: Io,
): void {
  if (args.has("json")) return printJson(io, "convert", conversion);
  if (args.has("quiet")) return;
  const { arrays, total, copied, skipped, bytes, isFinished } = conversion;
  const isInPlace = args.has("in-place");
  const unit = isInPlace ? "chunks" : "chunks and files";
  const where = isInPlace
    ? `converted in place in ${place}`
    : `copied to ${place}`;
  if (args.has("dry-run")) {
    printLayouts(arrays, io);
    printOthers(conversion, { isInPlace }, io);
    return io.print(`${countText(total)} ${unit} would be ${where}`);
  }
  const count = `${countText(copied)} ${unit}`;
  const there = skipped > 0 ? `, ${countText(skipped)} were there` : "";
  if (!isInPlace) io.print(`${count} (${bytesText(bytes)}) ${where}${there}`);
  else if (arrays.length === 0) io.print(`${place} has this layout already`);
  else io.print(`${count} ${where} (${bytesText(bytes)} written)`);
  printOthers(conversion, { isInPlace }, io);
  if (!isFinished) io.print(ALL_SHARES);
}

/**
 * Prints how to continue, if a conversion was left unfinished.
 *
 * @param text What follows the place in the message.
 */
async function explain(
  location: NodeLocation,
  place: string,
  text: string,
  io: Io,
): Promise<void> {
  if (await isUnfinished(location)) {
    io.note(`${place} is not finished${text}\n`);
  }
}

/** `zarr-parts convert --in-place PATH` */
async function convertFolder(
  args: Arguments,
  io: Io,
): Promise<number> {
  const [path] = args.operands as [string];
  const location = await locate(path);
  await assertNoArchive(path);
  await assertSource(path);
  const layout = await layoutOf(args);
  const concurrency = concurrencyOf(args);
  const progress = new ProgressLine(io, args.has("quiet"));
  try {
    const conversion = await convertInPlace(location, {
      ...layout,
      ...chosenNodes(args),
      ...othersOf(args),
      ...concurrency && { concurrency },
      keepGoing: args.has("keep-going"),
      dryRun: args.has("dry-run"),
      signal: io.signal,
      onProgress: ({ done, total, bytes }) =>
        progress.update(done, total, bytes),
    });
    progress.clear();
    report(conversion, args, path, io);
    return conversion.leftOut.length > 0 ? 1 : 0;
  } catch (error) {
    progress.clear();
    const text = ", and may not open until the same command is run again";
    await explain(location, path, text, io);
    throw withUsage(error);
  }
}

/** The location of a source on this machine in the outermost group around it. */
async function locateSource(
  place: string,
): Promise<NodeLocation | undefined> {
  const path = pathOf(place);
  const isFolder = path !== undefined && !await isInArchive(place);
  return isFolder ? await locate(path) : undefined;
}

/** The location of a node in the store of the outermost group around it, whose consolidated metadata may describe the node. */
async function locate(path: string): Promise<NodeLocation> {
  const given = /^file:/i.test(path) ? fileURLToPath(path) : path;
  assertPath(given);
  const folder = resolve(given);
  let root = folder;
  while (await isNode(dirname(root)) && dirname(root) !== root) {
    root = dirname(root);
  }
  // The only copy of an array must outlast a loss of power.
  const options = { sync: true };
  if (root === folder) return { store: new FileSystemStore(given, options) };
  const names = relative(root, folder).replaceAll("\\", "/");
  return { store: new FileSystemStore(root, options), path: names };
}

async function isNode(folder: string): Promise<boolean> {
  for (const name of ["zarr.json", ".zgroup"]) {
    const found = await Deno.stat(`${folder}/${name}`).catch(() => undefined);
    if (found?.isFile) return true;
  }
  return false;
}
