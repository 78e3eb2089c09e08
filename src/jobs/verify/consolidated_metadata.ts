import { describe, sentence } from "../../errors/mod.ts";
import {
  changeNodes,
  isMembers,
  withoutConsolidated,
} from "../../metadata/mod.ts";
import { describeStore } from "../../stores/mod.ts";
import {
  documentKey,
  isSameDocument,
  type Node,
  type Place,
} from "../../hierarchy/mod.ts";
import { type Finding, finding } from "./findings.ts";

/** A group whose consolidated metadata is not what its nodes say. */
interface StaleGroup {
  readonly group: Node;
  /** A finding for each such node, and whether the node has a document of its own. */
  readonly nodes: readonly {
    readonly finding: Finding;
    readonly hasDocument: boolean;
  }[];
  /** The document of the group with the present documents of those nodes that have one. */
  readonly fresh: unknown;
}

/**
 * Compares the consolidated metadata of groups with the documents of their nodes.
 *
 * @param reported The keys of documents that are not valid, which other findings report.
 */
export function staleGroups(
  place: Place,
  nodes: readonly Node[],
  reported: ReadonlySet<string>,
): StaleGroup[] {
  const documents = new Map(
    nodes.map(({ path, document }) => [path, document]),
  );
  return nodes.flatMap((group) => {
    const key = group.v2Documents.find((key) => key.endsWith("/.zmetadata")) ??
      documentKey(place, group.path);
    const stale: StaleGroup["nodes"][number][] = [];
    const fresh = changeNodes(group.document, (node, below) => {
      const path = [group.path, below].filter((name) => name !== "").join("/");
      const own = documents.get(path);
      const isSame = below === "" || reported.has(documentKey(place, path)) ||
        isSameDocument(withoutConsolidated(node), withoutConsolidated(own));
      if (isSame) return node;
      const problem = own === undefined
        ? sentence`describes a node that has no ${documentKey(place, path)}`
        : "is not what the node's own document says";
      const message = `The consolidated metadata of ${
        describe(`/${path}`)
      } in ${describeStore(place.store)} ${problem}`;
      const hasDocument = isMembers(own);
      stale.push({
        finding: finding("consolidated-metadata-differs", key, message),
        hasDocument,
      });
      if (!hasDocument) return node;
      const inner = isMembers(node) ? node.consolidated_metadata : undefined;
      return {
        ...withoutConsolidated(own) as Record<string, unknown>,
        ...inner !== undefined && { consolidated_metadata: inner },
      };
    });
    return stale.length === 0 ? [] : [{ group, nodes: stale, fresh }];
  });
}
