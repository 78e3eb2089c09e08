import { checkAttributes } from "./array_metadata.ts";
import { isMembers, type Members } from "./json.ts";
import { checkNode, refuse } from "./schema.ts";

/**
 * Changes the documents of all nodes in a document: the document itself, and the
 * documents in a group's consolidated metadata. Returns the same object if nothing
 * changes.
 *
 * @param change Returns a changed document, the same one, or `undefined` to leave a node
 * out of consolidated metadata. `path` is the path of the document's node, and empty for
 * the outermost one.
 */
export function changeNodes(
  document: unknown,
  change: (document: unknown, path: string) => unknown,
  path = "",
): unknown {
  const own = change(document, path);
  const members = consolidated(own);
  if (members === undefined) return own;
  const changed = Object.entries(members).map(([name, member]) =>
    [
      name,
      changeNodes(member, change, path === "" ? name : `${path}/${name}`),
    ] as const
  ).filter(([, member]) => member !== undefined);
  const isSame = changed.length === Object.keys(members).length &&
    changed.every(([name, member]) => member === members[name]);
  if (isSame) return own;
  const group = own as Members;
  return {
    ...group,
    consolidated_metadata: {
      ...group.consolidated_metadata as Members,
      // Assignment would not define a node called __proto__.
      metadata: Object.fromEntries(changed),
    },
  };
}

/** Returns the paths of all nodes in a document, the outermost node first. */
export function nodePaths(document: unknown): string[] {
  const paths: string[] = [];
  changeNodes(document, (node, path) => {
    paths.push(path);
    return node;
  });
  return paths;
}

/** Whether a document is that of a Zarr v3 array. */
export function isArrayDocument(document: unknown): document is Members {
  return isMembers(document) && document.zarr_format === 3 &&
    document.node_type === "array";
}

/** Whether a document is that of a Zarr v3 group. */
export function isGroupDocument(document: unknown): boolean {
  return isMembers(document) && document.zarr_format === 3 &&
    document.node_type === "group";
}

/**
 * Refuses a document that is neither that of a Zarr v3 array nor that of a Zarr v3 group.
 *
 * @throws {MetadataError} If the document is refused.
 */
export function assertNodeDocument(document: unknown): void {
  const { members, type } = checkNode(document, "the metadata of a node", {
    array: undefined, // Checked when the array is opened.
    group: MEMBERS_OF_GROUP,
  });
  if (type === "array") return;
  checkAttributes(members.attributes);
  const path = "/consolidated_metadata";
  const nodes = members.consolidated_metadata ?? null;
  if (nodes === null) return;
  if (!isMembers(nodes)) {
    refuse("consolidated_metadata to be an object", nodes, path);
  }
  if (!isMembers(nodes.metadata)) {
    refuse("metadata to be an object", nodes.metadata, `${path}/metadata`);
  }
}

const MEMBERS_OF_GROUP: readonly string[] = [
  "zarr_format",
  "node_type",
  "attributes",
  "consolidated_metadata",
];

/** Returns a document without the nodes that it consolidates. */
export function withoutConsolidated(document: unknown): unknown {
  if (!isMembers(document)) return document;
  const { consolidated_metadata: _, ...rest } = document;
  return rest;
}

/** Returns the documents in a group's consolidated metadata, by their paths in the group. */
function consolidated(document: unknown): Members | undefined {
  if (!isMembers(document)) return undefined;
  const { consolidated_metadata } = document;
  if (!isMembers(consolidated_metadata)) return undefined;
  const { metadata } = consolidated_metadata;
  return isMembers(metadata) ? metadata : undefined;
}
