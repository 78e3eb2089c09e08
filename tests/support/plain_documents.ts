import { changeNodes } from "../../src/metadata/node_documents.ts";
import { PLAIN } from "../../src/views/plain_view.ts";

/** Converts a document, and its consolidated metadata, to its plain view. */
export function toPlain(document: unknown): unknown {
  return changeNodes(document, PLAIN.toShown);
}

/** Converts a document that is written through a plain view to the one that is stored. */
export function fromPlain(
  document: unknown,
  stored: ReadonlyMap<string, unknown>,
): unknown {
  return changeNodes(
    document,
    (node, path) => PLAIN.toStored(node, stored.get(path)),
  );
}
