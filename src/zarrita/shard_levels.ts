import { ceilDivide, parseArrayMetadata } from "../metadata/array_metadata.ts";
import { isArrayDocument } from "../metadata/node_documents.ts";
import { describe } from "../metadata/describe.ts";
import { parseExtension } from "../metadata/extension.ts";
import { below, MetadataError, pointer } from "../metadata/metadata_error.ts";
import { parseShardLayout, type ShardLayout } from "../shards/shard_layout.ts";

const SHARDING = "sharding_indexed";
/** The greatest number of inner chunks in a shard, whose index takes 16 MiB. */
const MOST_CHUNKS = 2 ** 20;

/** The shards of an array, whose inner chunks may be shards themselves. */
export interface ShardLevels {
  /** The layouts of the shards, of the shards nested in them, and so on. */
  readonly layouts: readonly ShardLayout[];
  /** The shape of the innermost chunks, in elements. */
  readonly chunkShape: readonly number[];
  /** The array's shape, in elements. */
  readonly shape: readonly number[];
  /** The number of innermost chunks along each dimension of the array. */
  readonly gridShape: readonly number[];
}

/** Parses the shards of an array; `undefined` for an array without shards or another node. */
export function parseShardLevels(document: unknown): ShardLevels | undefined {
  if (!isArrayDocument(document) || !isSharded(document.codecs)) {
    return undefined;
  }
  const { metadata } = parseArrayMetadata(document);
  const { chunk_shape } = metadata.chunk_grid.configuration!;
  const layouts: ShardLayout[] = [];
  let chunkShape = chunk_shape as number[];
  let codecs: unknown[] = document.codecs;
  let path = "/codecs";
  while (isSharded(codecs)) {
    assertAlone(codecs, path);
    path = pointer(path, 0);
    const [codec] = codecs;
    layouts.push(below(path, () => {
      const layout = parseShardLayout(codec, chunkShape);
      assertCount(layout);
      return layout;
    }));
    const { configuration } = parseExtension(codec, "codec");
    chunkShape = configuration.chunk_shape as number[];
    codecs = configuration.codecs as unknown[];
    path += "/configuration/codecs";
  }
  const { shape } = metadata;
  const gridShape = shape.map((length, i) =>
    ceilDivide(length, chunkShape[i]!)
  );
  return { layouts, chunkShape, shape, gridShape };
}

/** The codecs of the innermost chunks, from valid metadata. */
export function innermostCodecs(codecs: unknown): readonly unknown[] {
  return isSharded(codecs)
    ? innermostCodecs(codecs[0].configuration.codecs)
    : codecs as unknown[];
}

// deno-lint-ignore no-explicit-any -- checked by the parsers
function isSharded(codecs: unknown): codecs is any[] {
  return Array.isArray(codecs) &&
    codecs.some((codec) => codec === SHARDING || codec?.name === SHARDING);
}

/** Refuses shards whose index would need too much memory. */
function assertCount({ chunksPerShard }: ShardLayout): void {
  const count = chunksPerShard.reduce((product, n) => product * n, 1);
  if (count <= MOST_CHUNKS) return;
  throw new MetadataError(
    `Expected at most ${MOST_CHUNKS} inner chunks in a shard, found ${
      describe(chunksPerShard)
    }`,
    "/configuration/chunk_shape",
  );
}

/** Refuses codecs before or after `sharding_indexed`, since inner chunks could not be read by ranges. */
function assertAlone(codecs: unknown[], path: string): void {
  if (codecs.length === 1) return;
  const names = codecs.map((codec, i) =>
    below(pointer(path, i), () => parseExtension(codec, "codec")).name
  );
  throw new MetadataError(
    `Expected "${SHARDING}" to be the only codec of the shards, as inner chunks cannot be read otherwise, found ${
      describe(names)
    }`,
    path,
  );
}
