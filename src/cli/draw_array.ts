import type {
  InspectedArray,
  InspectedChunk,
  Inspection,
} from "../jobs/inspection.ts";
import type { NamedConfiguration } from "../metadata/array_metadata.ts";
import { bytesText, countText, shapeText } from "./format.ts";

/** The lines about a node. */
export function drawNode(
  node: Inspection["nodes"][number],
  place: string,
): string[] {
  const title = node.path === "" ? place : `/${node.path}`;
  if (node.kind === "group") return [`${title}  group`];
  return [
    `${title}  array`,
    ...fieldsOf(node).map(([name, text]) => `  ${name.padEnd(14)}${text}`),
    ...node.chunk === undefined ? [] : drawChunk(node, node.chunk),
  ];
}

function fieldsOf(array: InspectedArray): [string, string][] {
  const { metadata, gridShape, chunkShape, innerChunkShape, stored } = array;
  const { shape, data_type, dimension_names, chunk_key_encoding } = metadata;
  const names = dimension_names
    ? ` (${dimension_names.map((name) => name ?? "?").join(", ")})`
    : "";
  const what = innerChunkShape ? "shards" : "chunks";
  const count = gridShape.reduce((product, length) => product * length, 1);
  return [
    ["shape", shapeText(shape) + names],
    ["data type", nameOf(data_type)],
    [what, `${shapeText(chunkShape)}, a grid of ${shapeText(gridShape)}`],
    ...innerChunkShape
      ? [["inner chunks", shapeText(innerChunkShape)] as [string, string]]
      : [],
    ["codecs", codecsText(metadata.codecs)],
    ["keys", nameOf(chunk_key_encoding)],
    ...stored
      ? [[
        "stored",
        `${countText(stored.chunks)} of ${countText(count)} ${what}${
          stored.bytes === undefined ? "" : `, ${bytesText(stored.bytes)}`
        }`,
      ] as [string, string]]
      : [],
  ];
}

function nameOf(extension: string | NamedConfiguration): string {
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

/** A drawing of the parts of a chunk, in their order. */
function drawChunk(array: InspectedArray, chunk: InspectedChunk): string[] {
  const what = array.innerChunkShape ? "shard" : "chunk";
  const name = `${what} ${chunk.coordinates.join(", ")}`;
  if (chunk.size === undefined) return [`  ${name} is absent: ${chunk.key}`];
  const width = Math.max(...chunk.parts.map(({ key }) => key.length));
  const sizes = chunk.parts.map(({ length }) => countText(length));
  const digits = Math.max(...sizes.map(({ length }) => length));
  return [
    `  ${name}, ${countText(chunk.size)} bytes`,
    ...chunk.parts.map(({ key }, i) => {
      const edge = chunk.parts.length === 1
        ? "─"
        : i === 0
        ? "┌"
        : i === chunk.parts.length - 1
        ? "└"
        : "│";
      const holds = array.parts[i]!.holds.join(", ");
      return `    ${edge} ${key.padEnd(width)}  ${
        sizes[i]!.padStart(digits)
      }  ${holds}`.trimEnd();
    }),
  ];
}
