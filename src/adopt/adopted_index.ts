import type { ArrayMetadata, NamedConfiguration } from "../metadata/mod.ts";
import { joinBytes } from "../runtime/mod.ts";
import {
  assertFileSize,
  decodeFileRecord,
  encodeFileRecord,
  encodeShardIndex,
  FILE_RECORD_SIZE,
  type FileRecord,
  type ShardIndex,
  shardIndexSize,
  type ShardLayout,
} from "../shards/mod.ts";
import type { Part } from "../splitter/mod.ts";
import {
  readRange,
  readSize,
  type Store,
  type StoreKey,
  type StoreOptions,
} from "../stores/mod.ts";

/** The suffix that makes the key of an index of the key of its file. */
export const INDEX_SUFFIX = ".index";

/** The layout of the index of an adopted file. */
export function adoptedLayout(chunksPerShard: readonly number[]): ShardLayout {
  return {
    chunksPerShard,
    indexLocation: "end",
    indexEndian: "little",
    indexHasChecksum: true,
  };
}

/** The codec of adopted shards. */
export function adoptedSharding(
  chunkShape: readonly number[],
  codecs: ArrayMetadata["codecs"],
): NamedConfiguration {
  return {
    name: "sharding_indexed",
    configuration: {
      chunk_shape: [...chunkShape],
      codecs,
      index_codecs: [
        { name: "bytes", configuration: { endian: "little" } },
        { name: "crc32c" },
      ],
      index_location: "end",
    },
  };
}

/** The parts of an adopted shard: the file as it is, and its index beside it. */
export function adoptedParts(layout: ShardLayout): Part[] {
  const size = FILE_RECORD_SIZE + shardIndexSize(layout);
  return [{ keySuffix: "" }, { keySuffix: INDEX_SUFFIX, size }];
}

/** The bytes of the part that holds the index of an adopted file. */
export function encodeIndexPart(
  record: FileRecord,
  index: ShardIndex,
  layout: ShardLayout,
): Uint8Array {
  return joinBytes([
    encodeFileRecord(record),
    encodeShardIndex(index, layout),
  ]);
}

/** Whether the parts of an array are those of adopted files, as `adoptedParts` makes them. */
export function isAdopted(
  parts: readonly Part[],
  layout: ShardLayout,
): boolean {
  const [file, index, ...others] = parts;
  return others.length === 0 && layout.indexLocation === "end" &&
    file?.keySuffix === "" && file.size === undefined &&
    index?.keySuffix === INDEX_SUFFIX &&
    index.size === FILE_RECORD_SIZE + shardIndexSize(layout);
}

/**
 * Compares the length of an adopted file with the record in its index.
 *
 * @returns Whether there is a record; `undefined` if the file or its index is missing.
 * @throws {DamageError} If the lengths differ.
 */
export async function checkFileRecord(
  { store, key }: { readonly store: Store; readonly key: StoreKey },
  options: StoreOptions,
): Promise<boolean | undefined> {
  const head = { offset: 0, length: FILE_RECORD_SIZE };
  const [size, bytes] = await Promise.all([
    readSize(store, key, options),
    readRange(store, `${key}${INDEX_SUFFIX}`, head, options),
  ]);
  if (size === undefined || bytes?.length !== FILE_RECORD_SIZE) {
    return undefined;
  }
  const record = decodeFileRecord(bytes);
  if (record !== undefined) assertFileSize(record, key, size);
  return record !== undefined;
}
