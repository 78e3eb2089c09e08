import { toChunkKeyEncoding } from "../chunk_key_encoding/mod.ts";
import {
  isArrayDocument,
  isMembers,
  isSameJson,
  type Members,
} from "../metadata/mod.ts";

/**
 * Whether two documents of a node have the same meaning. zarr-python writes the defaults
 * out in consolidated metadata, also those that the node's own document leaves out.
 */
export function isSameDocument(a: unknown, b: unknown): boolean {
  return isSameJson(a, b) || isSameJson(withDefaults(a), withDefaults(b));
}

/** A document with the members that it may leave out. */
function withDefaults(document: unknown): unknown {
  if (!isMembers(document)) return document;
  const whole: Members = { attributes: {}, ...document };
  return !isArrayDocument(whole) ? whole : {
    storage_transformers: [],
    dimension_names: null,
    ...whole,
    chunk_key_encoding: writtenOutEncoding(whole.chunk_key_encoding),
    data_type: writtenOut(whole.data_type),
    codecs: writtenOutCodecs(whole.codecs),
  };
}

function writtenOutEncoding(encoding: unknown): unknown {
  try {
    return toChunkKeyEncoding(encoding as string).toJSON();
  } catch {
    return encoding; // An encoding that this package does not know has no known defaults.
  }
}

function writtenOutCodecs(codecs: unknown): unknown {
  if (!Array.isArray(codecs)) return codecs;
  return codecs.map(writtenOut).map((codec) => {
    if (!isMembers(codec) || codec.name !== "sharding_indexed") return codec;
    const { codecs, index_codecs, ...configuration } = codec
      .configuration as Members;
    return {
      ...codec,
      configuration: {
        index_location: "end",
        ...configuration,
        codecs: writtenOutCodecs(codecs),
        index_codecs: writtenOutCodecs(index_codecs),
      },
    };
  });
}

/** Whether lists of codecs have the same meaning. */
export function isSameCodecs(
  a: readonly unknown[],
  b: readonly unknown[],
): boolean {
  return isSameJson(a.map(writtenOut), b.map(writtenOut));
}

/** Writes the short-hand of an extension out. */
export function writtenOut(extension: unknown): unknown {
  if (typeof extension === "string") return { name: extension };
  if (!isMembers(extension)) return extension;
  const { configuration, ...rest } = extension;
  const isEmpty = configuration === undefined ||
    isMembers(configuration) && Object.keys(configuration).length === 0;
  return isEmpty ? rest : extension;
}
