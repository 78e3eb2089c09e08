import type { NamedConfiguration } from "../metadata/array_metadata.ts";
import { checkOneOf } from "../metadata/check.ts";
import { completeCodecs, type Elements } from "../metadata/complete_codecs.ts";
import { describe } from "../metadata/describe.ts";
import { atPath, below, MetadataError } from "../metadata/metadata_error.ts";
import { shardIndexSize } from "../shards/shard_index.ts";
import { parseShardLayout } from "../shards/shard_layout.ts";

/** The elements of a shard index: whole numbers of 8 bytes. */
const INDEX_ELEMENTS: Elements = { bits: 64, toBytes: "bytes" };

/** The greatest depth of shards in shards. */
const MAX_NESTING = 32;

/**
 * Completes the codecs of array metadata, and those of inner chunks in shards.
 *
 * @param elements The array's elements.
 * @param chunkShape The shape of a chunk before the first codec, in elements;
 * `undefined` if an unknown codec may change it.
 * @param path The place of the list, as a JSON pointer.
 * @throws {MetadataError} If the list is empty, or a codec cannot be where it is.
 */
export function completePipeline(
  codecs: readonly unknown[],
  elements: Elements,
  chunkShape: readonly number[] | undefined,
  path: string,
  nesting = 0,
): NamedConfiguration[] {
  if (codecs.length === 0) {
    throw new MetadataError(
      "Expected at least one codec, found an empty list",
      path,
    );
  }
  if (nesting > MAX_NESTING) {
    throw new MetadataError(
      `Expected at most ${MAX_NESTING} shards in one another, found more`,
      path,
    );
  }
  const completed = atPath(
    path,
    () => completeCodecs(codecs as NamedConfiguration[], elements, "codecs"),
  );
  let shape = chunkShape;
  return completed.map((codec, i) => {
    const place = `${path}/${i}`;
    switch (codec.name) {
      case "transpose":
        shape = shape && transposed(codec, shape, place);
        return codec;
      case "bytes":
      case "packbits":
        assertFixedLength(codec, elements, place);
        return codec;
      case "sharding_indexed":
        return completeShards(codec, elements, shape, place, nesting);
      case "vlen-utf8":
      case "vlen-bytes":
        return codec;
      default:
        // An unknown codec may change the shape.
        shape = undefined;
        return codec;
    }
  });
}

function completeShards(
  codec: NamedConfiguration,
  elements: Elements,
  shardShape: readonly number[] | undefined,
  path: string,
  nesting: number,
): NamedConfiguration {
  const { configuration = {} } = codec;
  const { codecs, index_codecs, chunk_shape } = configuration;
  const inner = `${path}/configuration`;
  const completed = {
    ...codec,
    configuration: {
      ...configuration,
      ...Array.isArray(codecs) && {
        codecs: completePipeline(
          codecs,
          elements,
          Array.isArray(chunk_shape) ? chunk_shape : undefined,
          `${inner}/codecs`,
          nesting + 1,
        ),
      },
      ...Array.isArray(index_codecs) && {
        index_codecs: completePipeline(
          index_codecs,
          INDEX_ELEMENTS,
          undefined,
          `${inner}/index_codecs`,
        ),
      },
    },
  };
  if (shardShape === undefined) return completed;
  below(path, () => {
    const layout = parseShardLayout(completed, shardShape);
    atPath("/configuration/chunk_shape", () => shardIndexSize(layout));
  });
  return completed;
}

/** Returns the shape of chunks behind a codec `transpose`. */
function transposed(
  { configuration }: NamedConfiguration,
  shape: readonly number[],
  path: string,
): readonly number[] {
  const { order } = configuration as { order: unknown };
  const isOrder = Array.isArray(order) && order.length === shape.length &&
    shape.every((_, i) => order.includes(i));
  if (isOrder) return order.map((i) => shape[i]!);
  throw new MetadataError(
    `Expected the order of "transpose" to hold each of the ${shape.length} dimensions once, counted from 0, found ${
      describe(order)
    }`,
    `${path}/configuration/order`,
  );
}

/** Refuses codecs for elements of one length where the lengths differ. */
function assertFixedLength(
  { name, configuration }: NamedConfiguration,
  { bits, toBytes }: Elements,
  path: string,
): void {
  if (name === "bytes" && configuration?.endian !== undefined) {
    checkOneOf(
      configuration.endian,
      ["little", "big"],
      'endian "little" or "big"',
      `${path}/configuration/endian`,
    );
  }
  if (bits !== undefined || toBytes === "bytes") return;
  throw new MetadataError(
    `Expected the codec ${
      describe(toBytes)
    }, since the elements differ in length, found ${describe(name)}`,
    path,
  );
}
