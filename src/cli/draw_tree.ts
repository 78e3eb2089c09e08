import type { Inspection } from "../jobs/inspect/inspection.ts";
import { nameOf, storedText } from "./array_fields.ts";
import { shapeText } from "./format.ts";

/** A node or a folder between nodes, with those below it by name. */
interface Branch {
  text: string;
  readonly branches: Map<string, Branch>;
}

/** The lines of the nodes of a group: a tree, with a line for each node. */
export function drawTree({ nodes }: Inspection, place: string): string[] {
  const root: Branch = { text: "", branches: new Map() };
  for (const node of nodes) {
    let branch = root;
    for (const name of node.path === "" ? [] : node.path.split("/")) {
      const next = branch.branches.get(name) ??
        { text: "", branches: new Map() };
      branch.branches.set(name, next);
      branch = next;
    }
    branch.text = textOf(node);
  }
  return [`${place}  ${root.text}`, ...linesBelow(root, "")];
}

function textOf(node: Inspection["nodes"][number]): string {
  if (node.kind === "group") return "group";
  if (node.kind === "invalid") return `not valid: ${node.message}`;
  const { metadata, parts } = node;
  const stored = storedText(node);
  return [
    nameOf(metadata.data_type),
    shapeText(metadata.shape),
    ...stored === undefined ? [] : [stored],
    ...parts.length > 1 ? [`in ${parts.length} parts each`] : [],
    ...node.damage === undefined ? [] : [`damaged: ${node.damage}`],
  ].join("  ");
}

function linesBelow({ branches }: Branch, indent: string): string[] {
  const last = branches.size - 1;
  return Array.from(branches).flatMap(([name, branch], i) => [
    `${indent}${i === last ? "└──" : "├──"} ${name}  ${branch.text}`.trimEnd(),
    ...linesBelow(branch, `${indent}${i === last ? "    " : "│   "}`),
  ]);
}
