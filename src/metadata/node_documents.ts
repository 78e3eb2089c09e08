import { JsonNumber } from "../runtime/mod.ts";

/** A JSON object. */
export type Members = Readonly<Record<string, unknown>>;

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
    [name, changeNodes(member, change, below(path, name))] as const
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
export function nodePaths(document: unknown, path = ""): string[] {
  const members = Object.entries(consolidated(document) ?? {});
  return [
    path,
    ...members.flatMap(([name, member]) =>
      nodePaths(member, below(path, name))
    ),
  ];
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

/** Whether a value is a JSON object. */
export function isMembers(value: unknown): value is Members {
  return typeof value === "object" && value !== null &&
    !Array.isArray(value) && !(value instanceof JsonNumber);
}

function below(path: string, name: string): string {
  return path === "" ? name : `${path}/${name}`;
}

function consolidated(document: unknown): Members | undefined {
  if (!isMembers(document)) return undefined;
  const { consolidated_metadata } = document;
  if (!isMembers(consolidated_metadata)) return undefined;
  const { metadata } = consolidated_metadata;
  return isMembers(metadata) ? metadata : undefined;
}
