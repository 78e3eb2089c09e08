import { dirname, relative, resolve } from "node:path";
import { countOfGrid, parseArray, type ParsedArray } from "../arrays/mod.ts";
import {
  type Conversion,
  convert,
  type ConvertedArray,
  convertInPlace,
  type ConvertOptions,
  isUnfinished,
  LayoutError,
  type NodeLocation,
  type RecodedChunks,
} from "../jobs/mod.ts";
import { FileSystemStore } from "../stores/mod.ts";
import {
  type Arguments,
  type Command,
  type Io,
  type Result,
  UsageError,
} from "./command.ts";
import {
  CONTAINER_OPTIONS,
  containerOf,
  LAYOUT,
  RECODING,
  SPEED_OPTIONS,
} from "./convert_arguments.ts";
import { drawParts, nameOf, neededCodecs } from "./draw_array.ts";
import { withFlags } from "./error_output.ts";
import {
  bytesText,
  countText,
  shapeText,
  someOf,
  unitsText,
} from "./format.ts";
import {
  assertPath,
  findArchive,
  openSource,
  openTarget,
  pathOf,
} from "./open_store.ts";
import type { Outputs } from "./outputs.ts";
import { NODES, SHARE, SOURCE } from "./shared_options.ts";

/** The options that exclude `--in-place`. */
const NOT_IN_PLACE: readonly string[] = [
  ...Object.keys({
    ...CONTAINER_OPTIONS,
    ...RECODING.options,
    ...SPEED_OPTIONS,
  }).map((flags) => /\w+/.exec(flags)![0]),
  ...["resume", "overwrite", "share", "follow-links"],
];

/** `zarr-parts convert SOURCE TARGET` */
export const CONVERT: Command = {
  name: "convert",
  operands: ["SOURCE", "TARGET"],
  operandsWith: { "in-place": ["PATH"] },
  summary:
    "Copies an array or a group, and changes the chunk keys, parts, codecs, chunks or shards of its arrays. The layout stays the same where no option changes it. SOURCE is the path or the URL of a folder or a zip archive, and TARGET a path or the URL of a bucket. Most uses need --suffix, --parts, --plain, --container or --codecs.",
  options: {},
  groups: {
    "Layout:": LAYOUT.options,
    "Containers:": CONTAINER_OPTIONS,
    "Codecs, chunks and shards:": RECODING.options,
    "Nodes:": {
      ...NODES.options,
      "--keep-going":
        "leave out invalid nodes of a group, which makes the exit status 1, and copy arrays that cannot get the layout as they are",
      ...SOURCE.options,
    },
    "Safety:": {
      "--dry-run": "print what would be done, and write nothing",
      "--resume": "continue a conversion that was stopped",
      "--overwrite":
        "replace the array, the group or the unfinished conversion at TARGET; any other file at TARGET is an error",
      "--in-place":
        "change the files of PATH, without a copy; run the same command again to finish a conversion that was stopped",
    },
    "Speed:": { ...SPEED_OPTIONS, ...SHARE.options },
  },
  exclusive: [
    ["template", "encoding"],
    ["resume", "overwrite"],
    ["share", "overwrite"],
    ...NOT_IN_PLACE.map((name) => ["in-place", name] as const),
  ],
  examples: [
    "zarr-parts convert data.zarr parts.zarr --suffix .shard --parts ,.index",
    "zarr-parts convert https://example.com/data.zarr copy.zarr --plain",
    "zarr-parts convert a.zarr b.zarr --container tiff --suffix .tif --recode",
    "zarr-parts convert a.zarr b.zarr --codecs zstd:5 --shards 2048,2048",
    "zarr-parts convert image.ome.zarr small.ome.zarr --exclude 0 --exclude labels",
    "zarr-parts convert --in-place data.zarr --suffix .shard --parts ,.index",
  ],
  async run(args, io) {
    if (args.has("in-place")) return await convertFolder(args, io);
    const [from, to] = args.operands as [string, string];
    const target = await openTarget(to, io);
    const source = await openSource(from, args, io);
    const recoding = RECODING.read(args);
    const share = SHARE.read(args);
    const options = {
      ...LAYOUT.read(args),
      ...recoding,
      ...await containerOf(args, recoding.recode, () => locateSource(from, io)),
      ...share,
      resume: args.has("resume"),
      overwrite: args.has("overwrite"),
    };
    return await run(
      (common) => convert(source, target, { ...options, ...common }),
      { store: target },
      `: run the same command ${
        share.share ? "again" : "with --resume"
      } to continue`,
      args,
      io,
    );
  },
};

/** `zarr-parts convert --in-place PATH` */
async function convertFolder(args: Arguments, io: Io): Promise<Result> {
  const [path] = args.operands as [string];
  const location = await locate(path);
  await openTarget(path, io, true);
  const layout = LAYOUT.read(args);
  return await run(
    (common) => convertInPlace(location, { ...layout, ...common }),
    location,
    ", and may not open until the same command is run again",
    args,
    io,
  );
}

/** The options that both kinds of conversions take. */
type CommonOptions = Pick<
  ConvertOptions,
  "only" | "exclude" | "keepGoing" | "dryRun" | "signal" | "onProgress"
>;

/**
 * Runs a conversion, and reports it.
 *
 * @param target Where an unfinished conversion is found.
 * @param advice What follows the target in the message about an unfinished conversion.
 */
async function run(
  conversion: (options: CommonOptions) => Promise<Conversion>,
  target: NodeLocation,
  advice: string,
  args: Arguments,
  io: Io,
): Promise<Result> {
  let hasBegun = args.has("in-place");
  try {
    const converted = await conversion({
      ...NODES.read(args),
      keepGoing: args.has("keep-going"),
      dryRun: args.has("dry-run"),
      signal: io.signal,
      onProgress(progress) {
        hasBegun = true;
        io.progress(progress);
      },
    });
    hintForReaders(converted, args, io);
    return {
      output: converted satisfies Outputs["convert"],
      lines: linesOf(converted, args),
      status: converted.leftOut.length > 0 ? 1 : 0,
    };
  } catch (error) {
    const mayBeUnfinished = hasBegun || io.signal.aborted;
    if (mayBeUnfinished && await isUnfinished(target)) {
      io.note(`${args.operands.at(-1)!} is not finished${advice}`);
    }
    throw error instanceof LayoutError ? new UsageError(error.message) : error;
  }
}

/** The chunk key encodings that all Zarr programs know. */
const KNOWN_ENCODINGS = ["default", "v2"];

/** Says which arrays zarr-python 3.0 to 3.4 misreads without an error, and which codecs readers of plain arrays need. */
function hintForReaders(
  { arrays }: Conversion,
  args: Arguments,
  io: Io,
): void {
  const codecs = args.has("plain") &&
    neededCodecs(arrays.map(({ metadata }) => parseArray(metadata)));
  if (codecs) io.hint(codecs);
  const misread = arrays.find(({ metadata }) =>
    metadata.storage_transformers?.length &&
    KNOWN_ENCODINGS.includes(nameOf(metadata.chunk_key_encoding))
  );
  if (misread !== undefined) {
    io.hint(
      `/${misread.path} is in parts and has no suffix: zarr-python reads fill values where it opens such an array through a group, and refuses one with --suffix`,
    );
  }
}

/** The number of chunks that the source does not have. The listing of a source does not say which of them belong to a share. */
function absentOf({ arrays, absent }: Conversion, isShare: boolean): number {
  if (isShare) return absent;
  return arrays.reduce((sum, { from, chunks, recoded }) => {
    if (chunks === undefined || recoded) return sum;
    return sum + countOfGrid(parseArray(from).gridShape) - chunks;
  }, absent);
}

/** Says what was converted, and where it is: `copied to b.zarr`, or `converted in place in a.zarr`. */
function linesOf(conversion: Conversion, args: Arguments): string[] {
  const { arrays, total, copied, skipped, bytes } = conversion;
  const isInPlace = args.has("in-place");
  const place = args.operands.at(-1)!;
  const countOf = (count: number) => {
    if (isInPlace) return unitsText(count, "chunk");
    const unit = count === 1 ? "chunk or file" : "chunks and files";
    return `${countText(count)} ${unit}`;
  };
  const where = isInPlace
    ? `converted in place in ${place}`
    : `copied to ${place}`;
  const others = drawOthers(conversion, isInPlace);
  if (args.has("dry-run")) {
    const sum = `${countOf(total)} would be ${where}`;
    return [...arrays.flatMap(drawLayout), ...others, sum];
  }
  const there = skipped > 0 ? `, ${countText(skipped)} were there` : "";
  const absent = absentOf(conversion, args.has("share"));
  const missing = absent > 0
    ? `, ${countText(absent)} ${absent === 1 ? "is" : "are"} absent`
    : "";
  const done = !isInPlace
    ? `${countOf(copied)} (${bytesText(bytes)}) ${where}${there}${missing}`
    : arrays.length === 0
    ? `${place} has this layout already`
    : `${countOf(copied)} ${where} (${bytesText(bytes)} written)`;
  return [
    done,
    ...others,
    ...conversion.isFinished ? [] : [
      "When all shares are done, run the command with --resume in place of --share",
    ],
  ];
}

/**
 * The lines about what a conversion has not converted: metadata and nodes of Zarr v2, nodes
 * that are excluded or not valid, and arrays that cannot get the layout.
 */
function drawOthers(
  { v2Documents, v2Nodes, leftOut, excluded, others }: Conversion,
  isInPlace: boolean,
): string[] {
  // A node stands for those below it.
  const all = new Set(excluded);
  const outermost = excluded.filter((path) =>
    !all.has(path.slice(0, Math.max(0, path.lastIndexOf("/"))))
  );
  const left = isInPlace ? "left as they are" : "left out";
  const removed = isInPlace ? "removed" : "not copied";
  const became = isInPlace ? left : "became Zarr v3";
  const keysOf = (paths: readonly string[]) => paths.map((path) => `/${path}`);
  const lists = [
    [`${removed}: Zarr v2 metadata beside zarr.json, `, v2Documents],
    [`${became}: nodes of Zarr v2, `, keysOf(v2Nodes)],
    [`${left} by --only or --exclude: `, keysOf(outermost)],
  ] as const;
  const reasons = Map.groupBy(others, ({ message }) => message);
  return [
    ...lists.flatMap(([text, keys]) =>
      keys.length > 0 ? text + someOf(keys) : []
    ),
    ...Array.from(reasons, ([message, arrays]) => {
      const paths = arrays.map(({ path }) => `/${path}`).join(", ");
      const done = isInPlace ? "left" : "copied";
      const are = arrays.length === 1 ? "it is" : "they are";
      return `${done} as ${are}: ${paths}: ${withFlags(message)}`;
    }),
    ...leftOut.map(({ path, message }) =>
      `left out /${path}: ${withFlags(message)}`
    ),
  ];
}

/** The new layout of an array with its first chunk, for a dry run. */
function drawLayout(
  { path, metadata, chunks, recoded }: ConvertedArray,
): string[] {
  const array = parseArray(metadata);
  const first = array.keys.encode(metadata.shape.map(() => 0));
  const made = recoded?.chunks ?? chunks;
  const count = made === undefined ? "chunks" : unitsText(made, "chunk");
  return [
    `/${path}  ${count}, such as`,
    ...drawParts(array.parts.map(({ keySuffix, size }) => ({
      key: first + keySuffix,
      size: size === undefined ? "" : countText(size),
      holds: "",
    }))),
    ...recoded ? [encodingText(array, recoded)] : [],
  ];
}

/** How chunks will be encoded, and how often those of the source are decoded for it. */
function encodingText(
  { chunk, innermost, innerChunkShape }: ParsedArray,
  { decodes }: RecodedChunks,
): string {
  const shape = innerChunkShape
    ? `shards of ${shapeText(chunk.shape)} in chunks of ${
      shapeText(innerChunkShape)
    }`
    : `chunks of ${shapeText(chunk.shape)}`;
  const names = innermost.codecs.map(({ name }) => name).join(", ");
  const count = decodes.toFixed(decodes < 10 ? 2 : 0);
  const times = decodes === 0
    ? ", as they are encoded"
    : decodes > 1.005
    ? `; each chunk of the source is decoded ${count} times, and more rarely with more --memory`
    : "";
  return `  ${shape}, by ${names}${times}`;
}

/** The location of a source on this machine in the outermost group around it. */
async function locateSource(
  place: string,
  io: Io,
): Promise<NodeLocation | undefined> {
  const path = pathOf(place);
  const isFolder = path !== undefined &&
    await findArchive(place, io) === undefined;
  return isFolder ? await locate(path) : undefined;
}

/** The location of a node in the store of the outermost group around it, whose consolidated metadata may describe the node. */
async function locate(path: string): Promise<NodeLocation> {
  const given = pathOf(path) ?? path;
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
