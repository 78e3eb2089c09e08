import {
  isArrayDocument,
  isMembers,
  type Members,
} from "../metadata/node_documents.ts";
import { PlainArray } from "./plain_array.ts";
import type { Translation } from "./translation.ts";

/** The chunk key encoding of every array in a plain view. */
export const PLAIN_KEYS = {
  name: "default",
  configuration: { separator: "/" },
};

/** The translation of `plainView`: `default` keys and no storage transformers. */
export const PLAIN: Translation = {
  toShown(document) {
    if (!isTranslated(document)) return document;
    const { storage_transformers: _, ...rest } = document as Members;
    return { ...rest, chunk_key_encoding: PLAIN_KEYS };
  },

  toStored(document, stored) {
    if (
      !isTranslated(stored) || !isArrayDocument(document) ||
      isTranslated(document)
    ) return document;
    const { chunk_key_encoding, storage_transformers } = stored as Members;
    return {
      ...document,
      chunk_key_encoding,
      ...storage_transformers === undefined ? {} : { storage_transformers },
    };
  },

  open(store, root, document) {
    return isTranslated(document)
      ? new PlainArray(store, root, document)
      : undefined;
  },
};

/** Whether a document is that of an array with other keys than `default`, or with storage transformers. */
export function isTranslated(document: unknown): boolean {
  if (!isArrayDocument(document)) return false;
  const { chunk_key_encoding, storage_transformers } = document;
  return !isPlainKeys(chunk_key_encoding) ||
    Array.isArray(storage_transformers) && storage_transformers.length > 0;
}

/** Whether an encoding is `default` with the separator `/`. */
function isPlainKeys(encoding: unknown): boolean {
  if (encoding === "default") return true;
  if (!isMembers(encoding) || encoding.name !== "default") return false;
  const { configuration = {} } = encoding;
  return isMembers(configuration) && (configuration.separator ?? "/") === "/";
}
