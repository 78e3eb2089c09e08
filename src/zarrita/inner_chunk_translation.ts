import { ArrayStorage } from "../arrays/array_storage.ts";
import { assertNodeDocument } from "../metadata/node_metadata.ts";
import {
  isArrayDocument,
  isGroupDocument,
  isMembers,
  type Members,
} from "../metadata/node_documents.ts";
import { coreDataType } from "../metadata/data_type.ts";
import { MetadataError } from "../metadata/metadata_error.ts";
import { isSameJson } from "../metadata/same_json.ts";
import { withNumbers } from "../metadata/zarr_json.ts";
import { PLAIN, PLAIN_KEYS } from "../views/plain_translation.ts";
import type { Translation } from "../views/translation.ts";
import { shownFillValue } from "./fill_value.ts";
import {
  innermostCodecs,
  parseShardLevels,
  type ShardLevels,
} from "./shard_levels.ts";
import { ShardedArray } from "./sharded_array.ts";

/**
 * Shows arrays in a form that zarrita reads: plain, sharded arrays as arrays of their
 * innermost chunks, extensions without short-hands, and fill values exactly.
 */
export const INNER_CHUNKS: Translation = {
  check: checkNode,

  toShown(document) {
    const plain = PLAIN.toShown(document);
    if (!isArrayDocument(plain)) return plain;
    const members = { ...shownChunks(plain), ...shownOthers(plain) };
    return Object.keys(members).length > 0 ? { ...plain, ...members } : plain;
  },

  toStored(document, stored) {
    const node = PLAIN.toStored(document, stored);
    if (!isArrayDocument(node) || !isArrayDocument(stored)) return node;
    const chunks = shownChunks(stored);
    const isGiven = ([name, value]: [string, unknown]) =>
      isSameJson(node[name], value);
    const isAsShown = Object.entries(chunks).every(isGiven);
    const kept = Object.entries({
      ...isAsShown && chunks,
      ...shownOthers(stored),
    }).filter(isGiven);
    if (kept.length === 0) return node;
    const members = kept.map(([name]) => [name, stored[name]]);
    return { ...node, ...Object.fromEntries(members) };
  },

  open(store, root, document) {
    checkNode(document);
    const levels = parseShardLevels(document);
    return levels && isMembers(document)
      ? new ShardedArray(store, root, document, levels)
      : PLAIN.open(store, root, document);
  },
};

/** Refuses a document that zarrita would read as a group, or with wrong elements. */
function checkNode(document: unknown): void {
  if (isGroupDocument(document)) assertNodeDocument(document);
  else new ArrayStorage(document); // Throws what `openArrayChunks` throws.
}

/** The members about chunks that are shown in another form than they are stored in. */
function shownChunks(array: Members): Members {
  const levels = readableLevels(array);
  if (levels !== undefined) {
    const { chunkShape: chunk_shape } = levels;
    return {
      chunk_grid: { name: "regular", configuration: { chunk_shape } },
      codecs: innermostCodecs(array.codecs).map(configured),
    };
  }
  const { codecs } = array;
  const isShort = Array.isArray(codecs) &&
    codecs.some((codec) => codec !== configured(codec));
  return isShort ? { codecs: codecs.map(configured) } : {};
}

/** The other members that are shown in another form, each independent of the rest. */
function shownOthers(array: Members): Members {
  const data_type = shownDataType(array.data_type);
  const fill_value = shownFillValue({
    ...array,
    ...data_type && { data_type },
  });
  return {
    ...data_type === undefined ? {} : { data_type },
    ...fill_value === undefined ? {} : { fill_value },
    ...typeof array.chunk_key_encoding === "string"
      ? { chunk_key_encoding: PLAIN_KEYS }
      : {},
  };
}

/** The name of a data type that is an object, since zarrita takes names alone; it refuses the names of extensions. */
function shownDataType(dataType: unknown): string | undefined {
  if (!isMembers(dataType)) return undefined;
  const { name, configuration = {} } = dataType;
  const isName = typeof name === "string" &&
    (coreDataType(name) === undefined ||
      Object.keys(configuration as Members).length === 0);
  return isName ? name : undefined;
}

/** The shards of an array, or `undefined` if its metadata is not understood: then it is shown as stored, and its chunks are refused. */
function readableLevels(array: Members): ShardLevels | undefined {
  try {
    return parseShardLevels(withNumbers(array));
  } catch (error) {
    if (error instanceof MetadataError) return undefined;
    throw error;
  }
}

/** A codec with a name and a configuration, since zarrita fails without either. */
function configured(codec: unknown): unknown {
  if (typeof codec === "string") return { name: codec, configuration: {} };
  return isMembers(codec) && codec.configuration === undefined
    ? { ...codec, configuration: {} }
    : codec;
}
