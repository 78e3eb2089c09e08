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
  return [
    `${title}  array`,
    ...fieldsOf(node).map(([name, text]) => `  ${name.padEnd(14)}${text}`),
    ...node.chunk === undefined ? [] : drawChunk(node, node.chunk),
  ];
}

/** A drawing of the parts of a chunk, in their order. */
function drawChunk(array: InspectedArray, chunk: InspectedChunk): string[] {
  const what = array.innerChunkShape ? "shard" : "chunk";
  const name = `${what} ${chunk.coordinates.join(", ")}`.trimEnd();
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
