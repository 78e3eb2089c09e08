import {
  isArrayDocument,
  isMembers,
  type Members,
} from "../metadata/consolidated.ts";
import { MetadataError } from "../metadata/metadata_error.ts";
import { PLAIN } from "../plain_translation.ts";
import type { Translation } from "../translation.ts";
import { shownFillValue } from "./fill_value.ts";
import { parseShardLevels, type ShardLevels } from "./shard_levels.ts";
import { ShardedArray } from "./sharded_array.ts";

/**
 * Shows arrays as zarrita understands them: plain, those in shards as arrays of
 * their innermost chunks, every codec with a configuration, and fill values exact.
 */
export const INNER_CHUNKS: Translation = {
  toShown(document) {
    const plain = PLAIN.toShown(document);
    const members = isArrayDocument(plain) && shownMembers(plain);
    return members ? { ...plain, ...members } : plain;
  },

  toStored(document, stored) {
    const node = PLAIN.toStored(document, stored);
    const members = isArrayDocument(stored) && shownMembers(stored);
    const isAsShown = members && isArrayDocument(node) &&
      Object.entries(members).every(([name, value]) =>
        isSame(node[name], value)
      );
    if (!isAsShown) return node;
    const kept = Object.keys(members).map((name) => [name, stored[name]]);
    return { ...node, ...Object.fromEntries(kept) };
  },

  open(store, root, document) {
    const levels = parseShardLevels(document);
    return levels
      ? new ShardedArray(store, root, document, levels)
      : PLAIN.open(store, root, document);
  },
};

/** The members of an array's document that are shown otherwise than they are stored. */
function shownMembers(array: Members): Members | undefined {
  const shown: Record<string, unknown> = {};
  const levels = readableLevels(array);
  if (levels !== undefined) {
    const { chunkShape: chunk_shape } = levels;
    shown.chunk_grid = { name: "regular", configuration: { chunk_shape } };
  }
  const codecs = levels?.codecs ?? array.codecs;
  const configured = Array.isArray(codecs) ? codecs.map(configure) : codecs;
  if (!isSame(configured, array.codecs)) shown.codecs = configured;
  const fillValue = shownFillValue(array);
  if (fillValue !== undefined) shown.fill_value = fillValue;
  return Object.keys(shown).length > 0 ? shown : undefined;
}

/** What cannot be understood is shown as it is stored, and its chunks are refused. */
function readableLevels(array: Members): ShardLevels | undefined {
  try {
    // Numbers that are kept as they are written become numbers.
    return parseShardLevels(JSON.parse(JSON.stringify(array)));
  } catch (error) {
    if (error instanceof MetadataError) return undefined;
    throw error;
  }
}

/** zarrita's codecs fail without a configuration. */
function configure(codec: unknown): unknown {
  if (typeof codec === "string") return { name: codec, configuration: {} };
  return isMembers(codec) && codec.configuration === undefined
    ? { ...codec, configuration: {} }
    : codec;
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
