import { countOfGrid, parseArray } from "../arrays/mod.ts";
import type {
  Conversion,
  ConvertedArray,
  InspectedArray,
  InspectedChunk,
  Inspection,
  RecodedChunks,
} from "../jobs/mod.ts";
import {
  type ArrayMetadata,
  namedCodecs,
  type NamedConfiguration,
} from "../metadata/mod.ts";
import { innermostCodecs } from "../zarrita/mod.ts";
import {
  bytesText,
  countText,
  shapeText,
  someOf,
  unitsText,
} from "./format.ts";
import { withFlags } from "./error_output.ts";

/** The lines about a node. */
export function drawNode(
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

/** The lines of the parts of a chunk. */
export function drawParts(
  parts: readonly { key: string; size: string; holds: string }[],
): string[] {
  const width = Math.max(...parts.map(({ key }) => key.length));
  const digits = Math.max(...parts.map(({ size }) => size.length));
  return parts.map(({ key, size, holds }, i) => {
    const edge = parts.length === 1
      ? "─"
      : i === 0
      ? "┌"
      : i === parts.length - 1
      ? "└"
      : "│";
    const columns = [key.padEnd(width), size.padStart(digits), holds];
    return `    ${edge} ${columns.join("  ")}`.trimEnd();
  });
}

/** The properties of an array by name, as people read them. */
export function fieldsOf(array: InspectedArray): [string, string][] {
  const { metadata, gridShape, chunkShape, innerChunkShape } = array;
  const { shape, data_type, dimension_names, chunk_key_encoding } = metadata;
  const names = dimension_names
    ? ` (${dimension_names.map((name) => name ?? "?").join(", ")})`
    : "";
  const fields: [string, string | undefined][] = [
    ["shape", shapeText(shape) + names],
    ["data type", nameOf(data_type)],
    [
      innerChunkShape ? "shards" : "chunks",
      shape.length === 0
        ? "one, with the only element"
        : `${shapeText(chunkShape)}, a grid of ${shapeText(gridShape)}`,
    ],
    ["inner chunks", innerChunkShape && shapeText(innerChunkShape)],
    ["codecs", codecsText(metadata.codecs) || "none"],
    ["keys", nameOf(chunk_key_encoding)],
    ["stored", storedText(array)],
    ["absent", absentText(array)],
  ];
  return fields.flatMap(([name, text]) =>
    text === undefined ? [] : [[name, text]]
  );
}

/** A node or a folder between nodes, with those below it by name. */
export interface Branch<T> {
  node: T | undefined;
  readonly branches: Map<string, Branch<T>>;
}

/** The tree of nodes, by their paths. */
export function treeOf<T extends { readonly path: string }>(
  nodes: readonly T[],
): Branch<T> {
  const root: Branch<T> = { node: undefined, branches: new Map() };
  for (const node of nodes) {
    let branch = root;
    for (const name of node.path === "" ? [] : node.path.split("/")) {
      const next = branch.branches.get(name) ??
        { node: undefined, branches: new Map() };
      branch.branches.set(name, next);
      branch = next;
    }
    branch.node = node;
  }
  return root;
}

/** The number of stored chunks or shards, and their length; `undefined` if they were not counted. */
export function storedText(
  { gridShape, innerChunkShape, stored }: InspectedArray,
): string | undefined {
  if (stored === undefined) return undefined;
  const { chunks, bytes } = stored;
  const count = countOfGrid(gridShape);
  const unit = innerChunkShape ? "shard" : "chunk";
  const text = `${countText(chunks)} of ${unitsText(count, unit)}`;
  return bytes === undefined ? text : `${text}, ${bytesText(bytes)}`;
}

/** The number of absent chunks or shards, if there are any. */
function absentText(
  { stored, innerChunkShape }: InspectedArray,
): string | undefined {
  if (!stored?.absent) return undefined;
  const unit = innerChunkShape ? "shard" : "chunk";
  return `${unitsText(stored.absent, unit)}, read as the fill value`;
}

/** The name of a data type, a codec or another extension of metadata. */
export function nameOf(extension: string | NamedConfiguration): string {
  return typeof extension === "string" ? extension : extension.name;
}

/** The codecs, with those of inner chunks in brackets. */
function codecsText(codecs: readonly (string | NamedConfiguration)[]): string {
  return codecs.map((codec) => {
    const inner = typeof codec === "string"
      ? undefined
      : codec.configuration?.codecs;
    return nameOf(codec) +
      (Array.isArray(inner) ? ` [${codecsText(inner)}]` : "");
  }).join(", ");
}

/**
 * The lines about what a conversion has not converted: metadata and nodes of Zarr v2, nodes
 * that are excluded or not valid, and arrays that cannot get the layout.
 */
export function drawOthers(
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
export function drawLayout(
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
    ...recoded ? [encodingText(metadata, recoded)] : [],
  ];
}

/** How chunks will be encoded, and how often those of the source are decoded for it. */
function encodingText(
  metadata: ArrayMetadata,
  { decodes }: RecodedChunks,
): string {
  const { chunk_shape } = metadata.chunk_grid.configuration;
  let shape = shapeText(chunk_shape);
  let codecs = namedCodecs(metadata.codecs);
  if (codecs[0]?.name === "sharding_indexed") {
    const { chunk_shape: inner } = codecs[0].configuration as {
      chunk_shape: number[];
    };
    shape = `shards of ${shape} in chunks of ${shapeText(inner)}`;
    codecs = namedCodecs(innermostCodecs(codecs) as NamedConfiguration[]);
  } else shape = `chunks of ${shape}`;
  const names = codecs.map(({ name }) => name).join(", ");
  const count = decodes.toFixed(decodes < 10 ? 2 : 0);
  const times = decodes === 0
    ? ", as they are encoded"
    : decodes > 1.005
    ? `; each chunk of the source is decoded ${count} times, and more rarely with more --memory`
    : "";
  return `  ${shape}, by ${names}${times}`;
}
