import { CHECKSUM_SIZE } from "../../checksum/stored_checksum.ts";
import type { NamedConfiguration } from "../../metadata/array_metadata.ts";
import {
  parseShardLayout,
  type ShardLayout,
} from "../../shards/shard_layout.ts";
import { decodedLength } from "../../zarrita/codecs/decoded_length.ts";

/** How chunks are encoded: stored chunks, their inner chunks, and so on. */
export interface ChunkLevel {
  readonly codecs: readonly NamedConfiguration[];
  /** The shape of a chunk before the first codec, in elements. */
  readonly shape: readonly number[];
  /** The data type of stored elements. */
  readonly dataType: string;
  /** The length of a chunk in bytes, if all chunks have the same. */
  readonly size: number | undefined;
  /** The shards, if chunks are shards whose index can be found. */
  readonly shards: ShardLevel | undefined;
}

/** Shards and their inner chunks. */
export interface ShardLevel {
  readonly layout: ShardLayout;
  /** The number of bytes of checksums after a shard. */
  readonly after: number;
  readonly inner: ChunkLevel;
}

/** Parses the codecs of an array, and those of inner chunks. */
export function chunkLevel(
  codecs: readonly (string | NamedConfiguration)[],
  shape: readonly number[],
  dataType: string,
): ChunkLevel {
  const named = codecs.map((codec) =>
    typeof codec === "string" ? { name: codec } : codec
  );
  const level = { codecs: named, shape, dataType: storedType(named, dataType) };
  const [first, ...others] = named;
  const isFound = first?.name === "sharding_indexed" &&
    others.every(({ name }) => name === "crc32c");
  if (!isFound) return { ...level, size: sizeOf(level), shards: undefined };
  const layout = parseShardLayout(first, shape);
  const { codecs: inner, chunk_shape } = first.configuration as {
    codecs: NamedConfiguration[];
    chunk_shape: number[];
  };
  const shards = {
    layout,
    after: CHECKSUM_SIZE * others.length,
    inner: chunkLevel(inner, chunk_shape, level.dataType),
  };
  return { ...level, size: undefined, shards };
}

/** The data type of stored elements, which the codec `cast_value` changes. */
function storedType(
  codecs: readonly NamedConfiguration[],
  dataType: string,
): string {
  const cast = codecs.findLast(({ name }) => name === "cast_value");
  const type = cast?.configuration?.data_type;
  return typeof type === "string" ? type : dataType;
}

/** The length of a chunk that no codec compresses. */
function sizeOf(
  { codecs, shape, dataType }: Omit<ChunkLevel, "size" | "shards">,
): number | undefined {
  const end = "the end of the codecs";
  const all = [...codecs, { name: end }];
  return decodedLength(end, { dataType, shape, codecs: all }).exact;
}
