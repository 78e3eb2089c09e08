import { countOfGrid, type ParsedArray } from "../arrays/mod.ts";
import type { InspectedArray } from "../jobs/mod.ts";
import type { NamedConfiguration } from "../metadata/mod.ts";
import { bytesText, countText, shapeText, unitsText } from "./format.ts";

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
  const { metadata, gridShape, chunkShape, innerChunkShape, stored } = array;
  const unit = innerChunkShape ? "shard" : "chunk";
  const { shape, data_type, dimension_names, chunk_key_encoding } = metadata;
  const names = dimension_names
    ? ` (${dimension_names.map((name) => name ?? "?").join(", ")})`
    : "";
  const fields: [string, string | undefined][] = [
    ["shape", shapeText(shape) + names],
    ["data type", nameOf(data_type)],
    [
      `${unit}s`,
      shape.length === 0
        ? "one, with the only element"
        : `${shapeText(chunkShape)}, a grid of ${shapeText(gridShape)}`,
    ],
    ["inner chunks", innerChunkShape && shapeText(innerChunkShape)],
    ["codecs", codecsText(metadata.codecs) || "none"],
    ["keys", nameOf(chunk_key_encoding)],
    ["stored", storedText(array)],
    [
      "absent",
      stored?.absent
        ? `${unitsText(stored.absent, unit)}, read as the fill value`
        : undefined,
    ],
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

/** The codecs that most readers of Zarr v3 have. */
const COMMON: readonly string[] = [
  ...["blosc", "bytes", "crc32c", "gzip", "sharding_indexed", "transpose"],
  ...["vlen-bytes", "vlen-utf8", "zstd"],
];

/** The versions of imagecodecs, in the notation of pip, that register codecs in zarr-python, or `undefined` if none of the codecs is of imagecodecs. */
export function imagecodecsFor(names: readonly string[]): string | undefined {
  if (!names.some(isOfImagecodecs)) return undefined;
  // Later versions have another codec of this name.
  const last = names.includes("imagecodecs_floatpred") ? ",<=2026.6.26" : "";
  return `imagecodecs>=2026.5.10${last}`;
}

/**
 * Says which codecs of arrays not every reader has, how a reader gets them, and how to make
 * a copy that needs none of them; `undefined` if there are none.
 */
export function neededCodecs(
  arrays: readonly ParsedArray[],
): string | undefined {
  const names = arrays.flatMap(({ levels }) =>
    levels.flatMap(({ codecs }) => codecs.map(({ name }) => name))
  );
  const needed = [...new Set(names)].filter((name) => !COMMON.includes(name));
  if (needed.length === 0) return undefined;
  const texts = Array.from(
    Map.groupBy(needed, (name) => sourceOf(name, needed)),
    ([source, names]) => `${names.join(" and ")} (${source})`,
  );
  return `Readers need ${
    texts.join(" and ")
  }; zarr-parts convert --plain --codecs zstd makes a copy without these codecs`;
}

/** How readers get a codec. */
function sourceOf(name: string, needed: readonly string[]): string {
  if (isOfImagecodecs(name)) {
    return `zarr-python: pip install "${
      imagecodecsFor(needed)
    }"; from imagecodecs.zarr import register_codecs; register_codecs()`;
  }
  return name.startsWith("numcodecs.")
    ? "zarr-python 3 has it, TensorStore and GDAL do not"
    : "zarrita: registerCodecs of zarr-parts";
}

function isOfImagecodecs(name: string): boolean {
  return name.startsWith("imagecodecs_");
}
