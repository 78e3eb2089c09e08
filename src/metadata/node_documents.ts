/** An object of JSON. */
export type Members = Readonly<Record<string, unknown>>;

/**
 * Changes the documents of all nodes that a document holds: its own, and those in
 * a group's consolidated metadata. The same object where nothing changes.
 *
 * @param change Gives a node's document changed, or the same one. `path` leads to
 * the node: "" is the one whose document this is.
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
  );
  if (changed.every(([name, member]) => member === members[name])) return own;
  const group = own as Members;
  return {
    ...group,
    consolidated_metadata: {
      ...group.consolidated_metadata as Members,
      // Not by assignment: a node may be called __proto__.
      metadata: Object.fromEntries(changed),
    },
  };
}

/** The paths of all nodes of which a document holds the document, the first of them its own. */
export function nodePaths(document: unknown, path = ""): string[] {
  const members = Object.entries(consolidated(document) ?? {});
  return [
    path,
    ...members.flatMap(([name, member]) =>
      nodePaths(member, below(path, name))
    ),
  ];
}

/** Whether a document is that of an array of Zarr v3. */
export function isArrayDocument(document: unknown): document is Members {
  return isMembers(document) && document.zarr_format === 3 &&
    document.node_type === "array";
}

/** Whether a document is that of a group of Zarr v3. */
export function isGroupDocument(document: unknown): boolean {
  return isMembers(document) && document.zarr_format === 3 &&
    document.node_type === "group";
}

/** Whether a value is an object of JSON. */
export function isMembers(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
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
