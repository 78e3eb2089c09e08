import { isInGrid, parseArray, type ParsedArray } from "../arrays/mod.ts";
import {
  type ChunkDivision,
  EncodedChunks,
  innermostChunks,
} from "../blocks/mod.ts";
import { MetadataError, sentence } from "../errors/mod.ts";
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
import type { InnerPath } from "../shards/mod.ts";
import {
  type Backend,
  backendOf,
  type ByteRange,
  MemoryPendingValues,
  type Store,
  type StoreOptions,
  toStream,
} from "../stores/mod.ts";
import {
  type Place,
  PLAIN,
  PLAIN_KEYS,
  PlainArray,
  type Translation,
} from "../views/mod.ts";

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
    return array.chunk.shard
      ? new ShardedArray(store, root, array, innermostChunks(array))
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
  const chunk_shape = innerShape(array);
  const shown = (codec: unknown) => shownCodec(codec, array.data_type);
  if (chunk_shape !== undefined) {
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
 * The shape of the innermost chunks of a sharded array; `undefined` without shards, and for metadata that
 * is not understood. Such an array is shown as it is stored, and its chunks are refused.
 */
function innerShape(array: Members): readonly number[] | undefined {
  try {
    const parsed = parseArray(withNumbers(array));
    return parsed.chunk.shard && innermostChunks(parsed).level.shape;
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

/** A sharded array, shown as an array of its innermost chunks. */
export class ShardedArray extends PlainArray {
  readonly chunks: EncodedChunks;

  constructor(
    store: Store,
    root: string,
    array: ParsedArray,
    division: ChunkDivision,
  ) {
    super(store, root, array);
    this.chunks = sharedChunks(store, root, array, division);
    this.refresh(); // Other programs may have changed the shards.
  }

  /** The number of innermost chunks along each dimension. */
  override get gridShape(): readonly number[] {
    return this.chunks.division.gridShape;
  }

  override placeOf(coordinates: readonly number[]): Place | undefined {
    if (!isInGrid(coordinates, this.gridShape)) return undefined;
    const { key } = this.chunks.placeOf(coordinates);
    return { backend: innerChunkBackend(this.chunks, coordinates), key };
  }

  override refresh(): void {
    this.chunks.shards!.reader.clear();
  }

  protected override async *shownChunks(
    shard: readonly number[],
    options: StoreOptions | undefined,
  ): AsyncGenerator<readonly number[]> {
    const { reader } = this.chunks.shards!;
    for await (const path of reader.list(this.keyOf(shard), options)) {
      const coordinates = this.#coordinates(shard, path);
      // Shards may extend past the edge of the array.
      if (coordinates.every((c, i) => c < this.gridShape[i]!)) {
        yield coordinates;
      }
    }
  }

  /** The grid coordinates of an inner chunk in the array. */
  #coordinates(shard: readonly number[], path: InnerPath): readonly number[] {
    return path.reduce((outer, within, level) => {
      const { chunksPerShard } = this.chunks.division.layouts[level]!;
      return outer.map((c, i) => c * chunksPerShard[i]! + within[i]!);
    }, shard);
  }
}

/** Chunks, with the document that they were created for. */
interface Latest {
  readonly document: string;
  readonly chunks: EncodedChunks;
}

/** Caches one entry per array; re-creating an array replaces its entry. */
const latest = new WeakMap<Store, Map<string, Latest>>();

/**
 * Returns the chunks of an array. All wrappers of a store that have read the same document
 * of the array share them, and with them the cache of indexes.
 */
function sharedChunks(
  store: Store,
  root: string,
  array: ParsedArray,
  division: ChunkDivision,
): EncodedChunks {
  const arrays = latest.get(store) ?? new Map<string, Latest>();
  latest.set(store, arrays);
  const { attributes: _, ...metadata } = array.metadata;
  const document = JSON.stringify(
    metadata,
    (_, value) => typeof value === "bigint" ? String(value) : value,
  );
  const found = arrays.get(root);
  if (found?.document === document) return found.chunks;
  const chunks = new EncodedChunks(backendOf(store), root, array, division);
  arrays.set(root, { document, chunks });
  return chunks;
}

/** A backend that has one inner chunk under the key of its shard. */
function innerChunkBackend(
  chunks: EncodedChunks,
  coordinates: readonly number[],
): Backend {
  const { key, path } = chunks.placeOf(coordinates);
  const { reader, writer } = chunks.shards!;
  const read = (options: StoreOptions | undefined, range?: ByteRange) =>
    range === undefined ? chunks.readInner(coordinates, options) : Promise
      .reject(
        // zarrita reads a range only if it takes the inner chunk for a shard.
        new TypeError(
          sentence`Expected an array that zarr.open gave, found one that takes inner chunks of ${key} for shards: open what zarr.create has created`,
        ),
      );
  const change = (bytes: Uint8Array | undefined) =>
    writer.change(key, path, bytes);
  return {
    read: (_, task, options) =>
      task({
        size: () => reader.size(key, path, options),
        read: (_, range) => read(options, range),
        async stream(_, range) {
          const bytes = await read(options, range);
          return bytes && toStream(bytes);
        },
        version: () => undefined,
      }),
    prepare: (_, options) =>
      Promise.resolve(
        new MemoryPendingValues(
          [key],
          options?.signal,
          (values) => change(values.get(key)),
        ),
      ),
    remove: () => change(undefined),
  };
}

/** The codecs of the innermost chunks, from valid metadata. */
export function innermostCodecs(codecs: unknown): readonly unknown[] {
  const sharding = (codecs as { name?: unknown; configuration?: unknown }[])
    .find((codec) => codec?.name === "sharding_indexed");
  return sharding === undefined
    ? codecs as unknown[]
    : innermostCodecs((sharding.configuration as { codecs: unknown }).codecs);
}
