import { parseArray } from "../arrays/mod.ts";
import { MetadataError } from "../errors/mod.ts";
import {
  assertNodeDocument,
  coreDataType,
  isArrayDocument,
  isGroupDocument,
  isMembers,
  isSameJson,
  type Members,
  numberOf,
  withNumbers,
} from "../metadata/mod.ts";
import { halfToNumber } from "../runtime/mod.ts";
import {
  PLAIN,
  PLAIN_KEYS,
  PlainArray,
  type Translation,
} from "../views/mod.ts";
import type { ChunkDivision } from "../blocks/mod.ts";
import {
  innermostCodecs,
  ShardedArray,
  shardedChunks,
} from "./sharded_array.ts";

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
    if (isGroupDocument(document)) {
      assertNodeDocument(document);
      return undefined;
    }
    const array = parseArray(document); // Throws what `openArrayChunks` throws.
    const chunks = shardedChunks(array);
    return chunks
      ? new ShardedArray(store, root, array, chunks)
      : new PlainArray(store, root, array);
  },
};

/** Refuses a document that zarrita would read as a group, or with wrong elements. */
function checkNode(document: unknown): void {
  if (isGroupDocument(document)) assertNodeDocument(document);
  else parseArray(document); // Throws what `openArrayChunks` throws.
}

/** The members about chunks that are shown in another form than they are stored in. */
function shownChunks(array: Members): Members {
  const chunks = readableChunks(array);
  const shown = (codec: unknown) => shownCodec(codec, array.data_type);
  if (chunks !== undefined) {
    const chunk_shape = chunks.level.shape;
    return {
      chunk_grid: { name: "regular", configuration: { chunk_shape } },
      codecs: innermostCodecs(array.codecs).map(shown),
    };
  }
  const { codecs } = array;
  const isChanged = Array.isArray(codecs) &&
    codecs.some((codec) => codec !== shown(codec));
  return isChanged ? { codecs: codecs.map(shown) } : {};
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

/**
 * The innermost chunks of a sharded array; `undefined` without shards, and for metadata that
 * is not understood. Such an array is shown as it is stored, and its chunks are refused.
 */
function readableChunks(array: Members): ChunkDivision | undefined {
  try {
    return shardedChunks(parseArray(withNumbers(array)));
  } catch (error) {
    if (error instanceof MetadataError) return undefined;
    throw error;
  }
}

/**
 * A codec with a name and a configuration, since zarrita fails without either. `bytes` of
 * booleans has no byte order, since zarrita reverses four booleans at a time in big endian.
 */
function shownCodec(codec: unknown, dataType: unknown): unknown {
  if (typeof codec === "string") return { name: codec, configuration: {} };
  if (!isMembers(codec)) return codec;
  const { name, configuration } = codec;
  const isReversed = name === "bytes" && isMembers(configuration) &&
    configuration.endian === "big" &&
    (dataType === "bool" || isMembers(dataType) && dataType.name === "bool");
  return configuration === undefined || isReversed
    ? { ...codec, configuration: {} }
    : codec;
}

/**
 * The fill value of an array in a form that zarrita reads exactly, or `undefined` if
 * zarrita reads the one in the document exactly.
 */
function shownFillValue(array: Members): string | number | undefined {
  const { data_type, fill_value } = array;
  switch (data_type) {
    case "int64":
    case "uint64":
      return digits(fill_value);
    case "float16":
    case "float32":
    case "float64":
      return float(fill_value, Number(data_type.slice(5)));
  }
}

/** The digits of an integer beyond 2^53, of which a number would lose some. zarrita also makes a `bigint` from a string. */
function digits(value: unknown): string | undefined {
  const number = numberOf(value);
  return typeof number === "bigint" ? String(number) : undefined;
}

/** The number whose bits the document has in hexadecimal, which zarrita would read as an integer. */
function float(value: unknown, bits: number): string | number | undefined {
  const isBits = typeof value === "string" && /^0x[0-9a-f]+$/i.test(value) &&
    value.length === 2 + bits / 4;
  if (!isBits) return undefined;
  const view = new DataView(new ArrayBuffer(8));
  view.setBigUint64(0, BigInt(value) << BigInt(64 - bits));
  const number = bits === 64
    ? view.getFloat64(0)
    : bits === 32
    ? view.getFloat32(0)
    : halfToNumber(view.getUint16(0));
  return Number.isFinite(number) ? number : String(number);
}
