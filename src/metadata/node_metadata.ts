import { describe, MetadataError, pointer } from "../errors/mod.ts";
import { checkAttributes } from "./array_metadata.ts";
import { isMembers, type Members } from "./node_documents.ts";
import { assertMember, checkOneOf, refuse } from "./schema.ts";

const MEMBERS_OF_GROUP: readonly string[] = [
  "zarr_format",
  "node_type",
  "attributes",
  "consolidated_metadata",
];

/**
 * Refuses a document that is neither that of a Zarr v3 array nor that of a Zarr v3
 * group. The other members of an array are checked where the array is opened.
 *
 * @throws {MetadataError} If the document is refused.
 */
export function assertNodeDocument(document: unknown): void {
  const what = "the metadata of a node";
  if (!isMembers(document)) {
    refuse("the metadata of an array or a group, an object", document);
  }
  assertMember(document, "zarr_format", what);
  if (document.zarr_format !== 3) {
    refuse("3 as zarr_format", document.zarr_format, "/zarr_format");
  }
  assertMember(document, "node_type", what);
  const type = checkOneOf(
    document.node_type,
    ["array", "group"],
    '"array" or "group" as node_type',
    "/node_type",
  );
  if (type === "group") assertGroup(document);
}

function assertGroup(document: Members): void {
  checkAttributes(document.attributes);
  for (const [name, value] of Object.entries(document)) {
    const isKnown = MEMBERS_OF_GROUP.includes(name) ||
      isMembers(value) && value.must_understand === false;
    if (isKnown) continue;
    throw new MetadataError(
      `Unknown member ${
        describe(name)
      } in group metadata, without must_understand: false`,
      pointer("", name),
    );
  }
  const { consolidated_metadata: nodes = null } = document;
  const path = "/consolidated_metadata";
  if (nodes === null) return;
  if (!isMembers(nodes)) {
    refuse("consolidated_metadata to be an object", nodes, path);
  }
  if (!isMembers(nodes.metadata)) {
    refuse("metadata to be an object", nodes.metadata, `${path}/metadata`);
  }
}
