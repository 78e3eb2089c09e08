import {
  inspect,
  type InspectedArray,
  type InspectedChunk,
  type Inspection,
} from "../jobs/mod.ts";
import { coordinatesInShard } from "../shards/mod.ts";
import type { ZipDescription } from "../zip/mod.ts";
import { type Command, valueOf } from "./command.ts";
import {
  type Branch,
  drawParts,
  fieldsOf,
  nameOf,
  storedText,
  treeOf,
} from "./draw_array.ts";
import { bytesText, countText, shapeText } from "./format.ts";
import { openSource } from "./open_store.ts";
import type { Outputs } from "./outputs.ts";
import { NODES, SOURCE } from "./shared_options.ts";

/** `zarr-parts inspect PATH|URL` */
export const INSPECT: Command = {
  name: "inspect",
  operands: ["PATH|URL"],
  summary:
    "Shows how an array is laid out: its chunks, keys, parts and codecs, how many chunks are stored, and where the bytes of one chunk are. For a group, shows the tree of its nodes. PATH or URL may be a zip archive.",
  options: {
    "--chunk <I,J>": "the chunk to show, with a map of its inner chunks",
    "--sizes": "sum up the lengths of all chunks",
    ...NODES.options,
    ...SOURCE.options,
  },
  examples: [
    "zarr-parts inspect data.zarr",
    "zarr-parts inspect https://example.com/data.zarr --chunk 0,1",
  ],
  async run(args, io) {
    const [place] = args.operands as [string];
    const chunk = valueOf(
      args,
      "chunk",
      "=I,J with grid coordinates, such as 0,1",
      (text) => {
        if (text === "") return [];
        return /^\d+(,\d+)*$/.test(text)
          ? text.split(",").map(Number)
          : undefined;
      },
    );
    const store = await openSource(place, args, io);
    const inspection = await inspect(store, "", {
      ...chunk && { chunk },
      ...NODES.read(args),
      sizes: args.has("sizes"),
      signal: io.signal,
    });
    const archive = await store.describe?.({ signal: io.signal });
    if (inspection.unfinished !== undefined && !args.has("json")) {
      io.note(
        `A conversion in place is unfinished, or another program is at work on it; finish it by ${inspection.unfinished}`,
      );
    }
    const isTree = inspection.nodes[0]!.kind === "group" && !chunk;
    return {
      output: {
        ...inspection,
        ...archive && { archive },
      } satisfies Outputs["inspect"],
      lines: [
        ...archive ? [archiveText(archive)] : [],
        ...isTree
          ? drawTree(inspection, place)
          : inspection.nodes.flatMap((node) => [
            ...drawNode(node, place),
            ...chunk && node.kind === "array" && node.chunk?.index
              ? drawShard(node.chunk.index)
              : [],
          ]),
      ],
    };
  },
};

/** The line about a zip archive. */
function archiveText(
  { entries, size, folder, deflated, unreadable, omeVersion }: ZipDescription,
): string {
  const unit = entries === 1 ? "entry" : "entries";
  return [
    `zip archive of ${countText(entries)} ${unit}`,
    bytesText(size),
    ...folder === "" ? [] : [`folder ${folder}`],
    ...deflated === 0 ? [] : [`${countText(deflated)} deflated`],
    ...unreadable === 0 ? [] : [`${countText(unreadable)} not readable`],
    ...omeVersion === undefined ? [] : [`OME-Zarr ${omeVersion} by RFC-9`],
  ].join(", ");
}

/** The lines about a node. */
function drawNode(
  node: Inspection["nodes"][number],
  place: string,
): string[] {
  const title = node.path === "" ? place : `/${node.path}`;
  if (node.kind === "invalid") return [`${title}  not valid: ${node.message}`];
  const version = node.zarrFormat === 2 ? " of Zarr v2, shown as v3" : "";
  const kind = `${node.kind}${version}`;
  if (node.kind === "group") return [`${title}  ${kind}`];
  return [
    `${title}  ${kind}`,
    ...fieldsOf(node).map(([name, text]) => `  ${name.padEnd(14)}${text}`),
    ...node.damage === undefined ? [] : [`  damaged: ${node.damage}`],
    ...node.chunk === undefined ? [] : drawChunk(node, node.chunk),
  ];
}

/** The lines about a chunk. */
function drawChunk(array: InspectedArray, chunk: InspectedChunk): string[] {
  const what = array.innerChunkShape ? "shard" : "chunk";
  const name = `${what} ${chunk.coordinates.join(", ")}`.trimEnd();
  if (chunk.size === undefined) return [`  ${name} is absent: ${chunk.key}`];
  return [
    `  ${name}, ${countText(chunk.size)} bytes`,
    ...drawParts(chunk.parts.map(({ key, length }, i) => ({
      key,
      size: countText(length),
      holds: array.parts[i]!.holds.join(", "),
    }))),
  ];
}

/** Shades from few bytes to many. */
const SHADES = "░▒▓█";
const ABSENT = "·";
/** Inner chunks that lie outside of the array. */
const OUTSIDE = " ";
/** The greatest width and height of a map. */
const WIDEST = 76;
const HIGHEST = 40;

/** A map of the inner chunks of a shard, by their lengths: the last two dimensions of each slice. */
function drawShard(
  {
    chunksPerShard,
    chunksInArray,
    present,
    innerChunks,
    offset,
    length,
  }: NonNullable<
    InspectedChunk["index"]
  >,
): string[] {
  const most = innerChunks.reduce(
    (most, each) => Math.max(most, each?.length ?? 0),
    0,
  );
  const inArray = sizeOf(chunksInArray);
  const all = inArray < innerChunks.length ? " in the array" : "";
  const count = `${countText(present)} of ${countText(inArray)} inner chunks`;
  const lines = [
    `    index of ${countText(length)} bytes at ${
      countText(offset)
    }; ${count}${all}, up to ${bytesText(most)}`,
  ];
  const columns = chunksPerShard.at(-1) ?? 1;
  const rows = chunksPerShard.at(-2) ?? 1;
  if (columns > WIDEST) {
    const text = `${columns} inner chunks in a row are too many for a map`;
    return [...lines, `    ${text}`];
  }
  for (let row = 0; row * columns < innerChunks.length; row++) {
    if (row === HIGHEST) return [...lines, "    …"];
    // A line between slices of arrays of three dimensions and more.
    if (row > 0 && row % rows === 0) lines.push("");
    const cells = innerChunks.slice(row * columns, (row + 1) * columns);
    const shades = cells.map((cell, column) => {
      const place = row * columns + column;
      const isInArray = coordinatesInShard(place, { chunksPerShard })
        .every((coordinate, i) => coordinate < chunksInArray[i]!);
      return cell || isInArray ? shade(cell?.length, most) : OUTSIDE;
    });
    lines.push(`    ${shades.join("")}`.trimEnd());
  }
  while (lines.at(-1) === "") lines.pop();
  return lines;
}

function sizeOf(shape: readonly number[]): number {
  return shape.reduce((product, length) => product * length, 1);
}

function shade(length: number | undefined, most: number): string {
  if (length === undefined) return ABSENT;
  const step = most === 0 ? 0 : Math.floor(length / most * SHADES.length);
  return SHADES[Math.min(step, SHADES.length - 1)]!;
}

/** The lines of the nodes of a group: a tree, with a line for each node. */
function drawTree({ nodes }: Inspection, place: string): string[] {
  const [root] = nodes as [InspectedNode];
  const tree = treeOf(nodes);
  const version = root.kind === "invalid" ? 3 : root.zarrFormat;
  return [`${place}  ${textOf(root, 3)}`, ...linesBelow(tree, version)];
}

type InspectedNode = Inspection["nodes"][number];

/** @param above The version of Zarr in the line of the outermost group. */
function textOf(node: InspectedNode, above: 2 | 3): string {
  if (node.kind === "invalid") return `not valid: ${node.message}`;
  const isTold = node.zarrFormat === above;
  const version = node.zarrFormat === 3 || isTold
    ? []
    : ["Zarr v2, shown as v3"];
  if (node.kind === "group") return ["group", ...version].join("  ");
  const { metadata, parts } = node;
  const stored = storedText(node);
  return [
    nameOf(metadata.data_type),
    shapeText(metadata.shape),
    ...stored === undefined ? [] : [stored],
    ...parts.length > 1 ? [`in ${parts.length} parts each`] : [],
    ...version,
    ...node.damage === undefined ? [] : [`damaged: ${node.damage}`],
  ].join("  ");
}

function linesBelow(
  { branches }: Branch<InspectedNode>,
  above: 2 | 3,
  indent = "",
): string[] {
  const last = branches.size - 1;
  return Array.from(branches).flatMap(([name, branch], i) => {
    const text = branch.node ? `  ${textOf(branch.node, above)}` : "";
    return [
      `${indent}${i === last ? "└──" : "├──"} ${name}${text}`,
      ...linesBelow(branch, above, `${indent}${i === last ? "    " : "│   "}`),
    ];
  });
}
