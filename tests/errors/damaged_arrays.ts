import { assert, assertEquals } from "@std/assert";
import * as zarr from "zarrita";
import {
  type ArrayChunks,
  type ArrayMetadata,
  arrayMetadata,
  type ArrayMetadataOptions,
  createArrayChunks,
  DamageError,
  encodeShard,
  MemoryStore,
  OtherBytesError,
  parseShardLayout,
  plainView,
  type ShardLayout,
  type StoreKey,
} from "../../mod.ts";
import { registerCodecs, withZarrParts } from "../../zarrita.ts";
import { slowCrc32c } from "../shards/slow_shard.ts";
import { readAll } from "../stores/store_values.ts";
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

registerCodecs(zarr);

/** Changes of a part; `undefined` removes it. */
export const CHANGES: Record<
  string,
  (part: Uint8Array) => Uint8Array | undefined
> = {
  "cut by its last byte": (part) => part.slice(0, -1),
  "cut by its first byte": (part) => part.slice(1),
  "emptied": () => new Uint8Array(),
  "longer by a zero": (part) => new Uint8Array([...part, 0]),
  "longer by a byte before it": (part) => new Uint8Array([255, ...part]),
  "missing": () => undefined,
};

type Read<T> = (stored: Stored) => Promise<T>;

/** The ways of reading the encoded chunk. */
export const BYTES: Record<string, Read<Uint8Array | undefined>> = {
  "ArrayChunks.get": ({ chunks }) => chunks.get([0]),
  "ArrayChunks.stream": async ({ chunks }) => readAll(await chunks.stream([0])),
  "ArrayChunks.getRange": ({ chunks }) =>
    chunks.getRange([0], { offset: 0, length: 999 }),
  "ArrayChunks.getRange of the last bytes": ({ chunks }) =>
    chunks.getRange([0], { suffixLength: 999 }),
  "plainView.get": ({ store }) => plainView(store).get(KEY),
  "plainView.stream": async ({ store }) =>
    readAll(await plainView(store).stream(KEY)),
  "plainView.getRange": ({ store }) =>
    plainView(store).getRange(KEY, { suffixLength: 999 }),
};

/** The ways of asking for the length of the encoded chunk. */
export const SIZES: Record<string, Read<number | undefined>> = {
  "ArrayChunks.size": ({ chunks }) => chunks.size([0]),
  "plainView.size": ({ store }) => plainView(store).size(KEY),
};

/** The ways of reading the elements. */
export const READ_ELEMENTS: Record<string, Read<Uint8Array>> = {
  "zarr.get": async (stored) =>
    (await zarr.get(await opened(stored))).data as Uint8Array,
  async "zarr.get of one element after the other"(stored) {
    const array = await opened(stored);
    const elements: number[] = [];
    for (const i of ELEMENTS.keys()) {
      elements.push(await zarr.get(array, [i]) as number);
    }
    return new Uint8Array(elements);
  },
  async "zarr.set of one element, and zarr.get"(stored) {
    const array = await opened(stored);
    for (const i of [1, 6]) {
      const before = await contents(stored);
      try {
        await zarr.set(array, [i], ELEMENTS[i] as never);
      } catch (error) {
        assertEquals(await contents(stored), before);
        throw error;
      }
    }
    return (await zarr.get(await opened(stored))).data as Uint8Array;
  },
};

async function opened({ store }: Stored) {
  const root = zarr.root(withZarrParts(store)).resolve("a");
  return await zarr.open(root, { kind: "array" });
}

async function contents({ store }: Stored): Promise<[string, Uint8Array][]> {
  const keys = (await Array.fromAsync(store.list("/a/c/"))).sort();
  return await Promise.all(
    keys.map(async (key) =>
      [key, (await store.get(key))!] as [string, Uint8Array]
    ),
  );
}

/** What reading gives, or "damage" for an error about damage that names a key of the chunk. */
export async function outcomeOf<T>(reading: Promise<T>): Promise<T | "damage"> {
  try {
    return await reading;
  } catch (error) {
    for (let it = error; it !== undefined; it = (it as Error).cause) {
      assert(!(it instanceof RangeError), String(it));
      // A change refuses bytes that damage has left beside the inner chunks.
      if (!(it instanceof DamageError || it instanceof OtherBytesError)) {
        continue;
      }
      assert(it.key.startsWith(KEY), `${it.name} has the key "${it.key}"`);
      assert(it.message.includes(`"${it.key}"`), it.message);
      return "damage";
    }
    throw error;
  }
}

/** Stores an array, with one part of its chunk changed. */
export async function damaged(
  kind: Kind,
  suffix: string,
  change: (part: Uint8Array) => Uint8Array | undefined,
): Promise<Stored> {
  const stored = await storedArray(kind);
  const key = `${KEY}${suffix}` as StoreKey;
  const part = change((await stored.store.get(key))!);
  if (part === undefined) await stored.store.delete(key);
  else await stored.store.set(key, part);
  return stored;
}
