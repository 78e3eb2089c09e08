import type {
  InspectedArray,
  InspectedChunk,
  Inspection,
} from "../jobs/inspect/inspection.ts";
import { fieldsOf } from "./array_fields.ts";
import { countText } from "./format.ts";

/** The lines about a node. */
export function drawNode(
  node: Inspection["nodes"][number],
  place: string,
): string[] {
  const title = node.path === "" ? place : `/${node.path}`;
  if (node.kind === "group") return [`${title}  group`];
  if (node.kind === "invalid") return [`${title}  not valid: ${node.message}`];
  return [
    `${title}  array`,
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
