type Members = Readonly<Record<string, unknown>>;

const PLAIN_KEYS = { name: "default", configuration: { separator: "/" } };

/**
 * Whether a document is that of an array whose chunks are not simply at their
 * `default` keys.
 */
export function isTranslated(document: unknown): boolean {
  if (!isArray(document)) return false;
  const { chunk_key_encoding: encoding, storage_transformers } = document;
  const name = isMembers(encoding) ? encoding.name : encoding;
  return name !== "default" ||
    Array.isArray(storage_transformers) && storage_transformers.length > 0;
}

/**
 * A document as a plain view shows it: an array with `default` keys and without
 * storage transformers, also in the consolidated metadata of a group. The same
 * object where there is nothing to change.
 */
export function toPlain(document: unknown): unknown {
  if (!isTranslated(document)) return changeConsolidated(document, toPlain);
  const { storage_transformers: _, ...rest } = document as Members;
  return { ...rest, chunk_key_encoding: PLAIN_KEYS };
}

/**
 * The document to store when a plain view is given one: an array that is shown
 * plain, and given back so, keeps how its chunks are stored.
 *
 * @param stored The documents that stand there, by their nodes' paths: "" for
 * this one, others for those in its consolidated metadata.
 */
export function fromPlain(
  document: unknown,
  stored: ReadonlyMap<string, unknown>,
  path = "",
): unknown {
  return changeConsolidated(
    asStored(document, stored.get(path)),
    (member, name) => fromPlain(member, stored, below(path, name)),
  );
}

function asStored(document: unknown, stored: unknown): unknown {
  if (!isTranslated(stored) || !isArray(document) || isTranslated(document)) {
    return document;
  }
  const { chunk_key_encoding, storage_transformers } = stored as Members;
  return {
    ...document,
    chunk_key_encoding,
    ...storage_transformers === undefined ? {} : { storage_transformers },
  };
}

/** The paths of all nodes of which a document holds the document, the first of them its own. */
export function pathsIn(document: unknown, path = ""): string[] {
  const members = Object.entries(consolidated(document) ?? {});
  return [
    path,
    ...members.flatMap(([name, member]) => pathsIn(member, below(path, name))),
  ];
}

function below(path: string, name: string): string {
  return path === "" ? name : `${path}/${name}`;
}

/** Changes the documents in a group's consolidated metadata. */
function changeConsolidated(
  document: unknown,
  change: (document: unknown, path: string) => unknown,
): unknown {
  const members = consolidated(document);
  if (members === undefined) return document;
  const changed = Object.entries(members)
    .map(([path, member]) => [path, change(member, path)] as const);
  if (changed.every(([path, member]) => member === members[path])) {
    return document;
  }
  const group = document as Members;
  return {
    ...group,
    consolidated_metadata: {
      ...group.consolidated_metadata as Members,
      // Not by assignment: a node may be called __proto__.
      metadata: Object.fromEntries(changed),
    },
  };
}

function consolidated(document: unknown): Members | undefined {
  if (!isMembers(document)) return undefined;
  const { consolidated_metadata } = document;
  if (!isMembers(consolidated_metadata)) return undefined;
  const { metadata } = consolidated_metadata;
  return isMembers(metadata) ? metadata : undefined;
}

function isArray(document: unknown): document is Members {
  return isMembers(document) && document.zarr_format === 3 &&
    document.node_type === "array";
}

function isMembers(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
