import { describe } from "../../errors/mod.ts";
import {
  changeNodes,
  isMembers,
  withoutConsolidated,
} from "../../metadata/mod.ts";
import { describeStore, type StoreKey } from "../../stores/mod.ts";
import {
  documentKey,
  isSameDocument,
  type Node,
  type Place,
} from "../../hierarchy/mod.ts";
import { type Finding, finding } from "./findings.ts";

/**
 * Compares the consolidated metadata of groups with the documents of their nodes.
 *
 * @param reported The keys of documents that are not valid, which other findings report.
 */
export function staleMetadata(
  place: Place,
  nodes: readonly Node[],
  reported: ReadonlySet<string>,
): Finding[] {
  const findings: Finding[] = [];
  changeStale(place, nodes, reported, (group, path, own, node) => {
    const problem = own === undefined
      ? `describes a node that has no ${describe(documentKey(place, path))}`
      : "is not what the node's own document says";
    findings.push(finding(
      "consolidated-metadata-differs",
      consolidatedKey(place, nodes, group),
      `The consolidated metadata of ${describe(`/${path}`)} in ${
        describeStore(place.store)
      } ${problem}`,
    ));
    return node;
  });
  return findings;
}

/** The key of the document with the consolidated metadata of a group. */
export function consolidatedKey(
  place: Place,
  nodes: readonly Node[],
  group: string,
): StoreKey {
  const v2 = nodes.find(({ path }) => path === group)?.v2Documents ?? [];
  return v2.find((key) => key.endsWith("/.zmetadata")) ??
    documentKey(place, group);
}

/**
 * Puts the documents of nodes into the consolidated metadata of their groups. Nodes
 * without a document of their own stay as they are.
 *
 * @param reported The keys of documents that are not valid, which other findings report.
 * @returns The nodes in the same order, with the same documents where nothing changes.
 */
export function withFreshMetadata(
  place: Place,
  nodes: readonly Node[],
  reported: ReadonlySet<string>,
): Node[] {
  return changeStale(place, nodes, reported, (_group, _path, own, node) => {
    if (!isMembers(own)) return node;
    const inner = isMembers(node) ? node.consolidated_metadata : undefined;
    const fresh = withoutConsolidated(own) as Record<string, unknown>;
    return inner === undefined
      ? fresh
      : { ...fresh, consolidated_metadata: inner };
  });
}

/**
 * Changes the documents in consolidated metadata that are not those of their nodes.
 *
 * @param change Called with the path of the group, the path of the node, the node's own
 * document if there is one, and the document in the consolidated metadata.
 */
function changeStale(
  place: Place,
  nodes: readonly Node[],
  reported: ReadonlySet<string>,
  change: (group: string, path: string, own: unknown, node: unknown) => unknown,
): Node[] {
  const documents = new Map(
    nodes.map(({ path, document }) => [path, document]),
  );
  return nodes.map((group) => ({
    ...group,
    document: changeNodes(group.document, (node, below) => {
      const path = [group.path, below].filter((name) => name !== "").join("/");
      const own = documents.get(path);
      const isSame = below === "" || reported.has(documentKey(place, path)) ||
        isSameDocument(withoutConsolidated(node), withoutConsolidated(own));
      return isSame ? node : change(group.path, path, own, node);
    }),
  }));
}
