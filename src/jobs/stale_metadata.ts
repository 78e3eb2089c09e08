import { describe } from "../metadata/describe.ts";
import { changeNodes, isMembers } from "../metadata/node_documents.ts";
import { isSameJson } from "../metadata/same_json.ts";
import { describeStore } from "../stores/describe_store.ts";
import { type Finding, finding } from "./finding.ts";
import { documentKey, type Place } from "./node_location.ts";
import type { Node } from "./read_nodes.ts";

/**
 * Compares the consolidated metadata of groups with the documents of their nodes.
 *
 * @param invalid The findings about documents that were left out.
 */
export function staleMetadata(
  place: Place,
  nodes: readonly Node[],
  invalid: readonly Finding[],
): Finding[] {
  const documents = new Map(
    nodes.map(({ path, document }) => [path, document]),
  );
  const findings: Finding[] = [];
  for (const { path, document } of nodes) {
    changeNodes(document, (node, below) => {
      const whole = [path, below].filter((name) => name !== "").join("/");
      const isReported = invalid.some(({ key }) =>
        key === documentKey(place, whole)
      );
      const own = documents.get(whole);
      const isSame = below === "" || isReported ||
        isSameJson(withoutNodes(node), withoutNodes(own));
      if (!isSame) {
        findings.push(finding(
          "consolidated-metadata-differs",
          documentKey(place, path),
          `The consolidated metadata of ${describe(`/${whole}`)} in ${
            describeStore(place.store)
          } is not what the node's own document says`,
        ));
      }
      return node;
    });
  }
  return findings;
}

/** A document without the nodes that it consolidates. */
function withoutNodes(document: unknown): unknown {
  if (!isMembers(document)) return document;
  const { consolidated_metadata: _, ...rest } = document;
  return rest;
}
