import {
  type ArrayChunks,
  type ArrayMetadata,
  arrayMetadata,
  type ArrayMetadataOptions,
  createArrayChunks,
  encodeShard,
  MemoryStore,
  parseShardLayout,
  type ShardLayout,
  type StoreKey,
} from "../../mod.ts";
import { slowCrc32c } from "../shards/slow_shard.ts";
import { concatParts } from "../support/metadata.ts";

/** The elements of the one chunk of each array. */
export const ELEMENTS = new Uint8Array([11, 12, 13, 14, 15, 16, 17, 18]);
/** The key of the chunk in plain views. */
export const KEY = "/a/c/0";

/** A kind of array. */
export interface Kind {
  readonly options?: Partial<ArrayMetadataOptions>;
  readonly transformers?: ArrayMetadata["storage_transformers"];
  /** The key suffixes of the values that the chunk is stored as, in order, and their sizes. */
  readonly parts: readonly (readonly [suffix: string, size?: number])[];
  /** The key suffix of the part that holds the three bytes before the inner chunks. */
  readonly header?: string;
  /** Whether a part after the unsized one holds bytes of an inner chunk. */
  readonly hasTail?: boolean;
}

const SHARDED = { shardShape: [8], chunkShape: [4] };
const CRC32C = { codecs: ["crc32c"] };
const NO_CHECKSUM = {
  indexCodecs: [{ name: "bytes", configuration: { endian: "little" } }],
};

export const KINDS: Record<string, Kind> = {
  "of one object": { parts: [[""]] },
  "of one object with a checksum": { options: CRC32C, parts: [[""]] },
  "with a header": { parts: [[".header", 3], [""]] },
  "with its checksum beside it": {
    options: CRC32C,
    parts: [[""], [".crc32c", 4]],
  },
  "whose parts all have a size": { parts: [[".first", 3], [".last", 5]] },
  "in shards": { options: SHARDED, parts: [[""]] },
  "in shards with checksums": {
    options: { ...SHARDED, ...CRC32C },
    parts: [[""]],
  },
  "in shards with checksums and the index at the start": {
    options: { ...SHARDED, ...CRC32C, indexLocation: "start" },
    parts: [[""]],
  },
  "in shards with the index at the start, beside them": {
    options: { ...SHARDED, ...NO_CHECKSUM, indexLocation: "start" },
    parts: [[".index", 32], [""]],
  },
  "in shards with the index beside them": {
    options: SHARDED,
    parts: [[""], [".index", 36]],
  },
  "in shards with the index beside them, which has no checksum": {
    options: { ...SHARDED, ...CRC32C, ...NO_CHECKSUM },
    parts: [[""], [".index", 32]],
  },
  "in shards with a header, a tail and an index": {
    options: { ...SHARDED, ...CRC32C },
    parts: [[".header", 3], [""], [".tail", 5], [".index", 36]],
    header: ".header",
    hasTail: true,
  },
  "in shards whose parts have parts": {
    options: SHARDED,
    transformers: [
      concatParts({ key_suffix: "" }, { key_suffix: ".index", size: 36 }),
      concatParts({ key_suffix: ".a", size: 3 }, { key_suffix: "" }),
    ],
    parts: [[".a", 3], [""], [".index.a", 3], [".index", 33]],
    header: ".a",
  },
};

/** An array of one chunk in a store. */
export interface Stored {
  readonly store: MemoryStore;
  readonly chunks: ArrayChunks;
  /** The layout of the chunk if it is a shard. */
  readonly layout: ShardLayout | undefined;
}

export async function storedArray(
  { options = {}, transformers, parts, header }: Kind,
): Promise<Stored> {
  const store = new MemoryStore();
  const metadata = {
    ...arrayMetadata({
      shape: [8],
      dataType: "uint8",
      chunkShape: [8],
      ...options,
    }),
    storage_transformers: transformers ?? [
      concatParts(
        ...parts.map(([key_suffix, size]) => ({
          key_suffix,
          ...size !== undefined && { size },
        })),
      ),
    ],
  };
  const chunks = await createArrayChunks(store, "a", metadata);
  const layout = options.shardShape &&
    parseShardLayout(metadata.codecs[0], [8]);
  const encode = (bytes: Uint8Array) =>
    options.codecs ? withChecksum(bytes) : bytes;
  const inner = [ELEMENTS.subarray(0, 4), ELEMENTS.subarray(4)].map(encode);
  const prefix = new Uint8Array(header === undefined ? 0 : 3).fill(9);
  await chunks.set(
    [0],
    layout ? encodeShard(inner, layout, { prefix }) : encode(ELEMENTS),
  );
  return { store, chunks, layout };
}

function withChecksum(bytes: Uint8Array): Uint8Array {
  const checksum = Number(slowCrc32c(bytes));
  const digits = [0, 8, 16, 24].map((shift) => checksum >>> shift & 0xff);
  return new Uint8Array([...bytes, ...digits]);
}

/** The bytes of all parts, one after another. */
export async function joinedParts(
  { store }: Stored,
  { parts }: Kind,
): Promise<Uint8Array> {
  const pieces = await Promise.all(
    parts.map(([suffix]) => store.get(`${KEY}${suffix}` as StoreKey)),
  );
  return new Uint8Array(pieces.flatMap((piece) => Array.from(piece!)));
}
