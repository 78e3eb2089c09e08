import { changeNodes } from "../../src/metadata/node_documents.ts";
import { PLAIN } from "../../src/views/plain_translation.ts";

/** A document, and those it holds, as a plain view shows them. */
export function toPlain(document: unknown): unknown {
  return changeNodes(document, PLAIN.toShown);
}

/** What a plain view stores when it is given a document, where others stand. */
export function fromPlain(
  document: unknown,
  stored: ReadonlyMap<string, unknown>,
): unknown {
  return changeNodes(
    document,
    (node, path) => PLAIN.toStored(node, stored.get(path)),
  );
}
