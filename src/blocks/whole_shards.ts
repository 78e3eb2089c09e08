/**
 * Shards that are decoded as a whole, since further codecs stand before or after
 * `sharding_indexed`: no inner chunk lies in the stored bytes as it is.
 *
 * Source: https://zarr-specs.readthedocs.io/en/latest/v3/codecs/sharding-indexed/
 */
import { copyBytes } from "../runtime/mod.ts";
import {
  type ChunkMetadata,
  stridesOf,
  transposeOrder,
} from "../codecs/mod.ts";
import { describe } from "../errors/mod.ts";
import { namedCodecs, type NamedConfiguration } from "../metadata/mod.ts";
import {
  coordinatesInShard,
  decodeShard,
  parseShardLayout,
  type ShardLayout,
} from "../shards/mod.ts";
import {
  ChunkCoder,
  type ChunkElements,
  type ChunkFormat,
  type codecsIn,
  copyElements,
  repeatElement,
} from "../threads/mod.ts";
import { elementForm } from "./element_form.ts";

/** The codecs of a format, as registries hold them. */
type ChunkCodecs = Awaited<ReturnType<typeof codecsIn>>;

/** Loads the codecs of a format without shards. */
type LoadCodecs = (format: ChunkFormat) => Promise<ChunkCodecs>;

const SHARDS = "sharding_indexed";

/** Codecs that encode the fill value of their array for the next codec. */
const FILL_ENCODERS = ["cast_value", "scale_offset"];

function innerCodecs({ configuration }: NamedConfiguration) {
  return namedCodecs(configuration?.codecs as NamedConfiguration[]);
}

/** The codecs of the innermost chunks, as if those before the shards were codecs of these chunks, and the shape of these chunks. */
export function innermostEncoding(
  objectShape: readonly number[],
  codecs: readonly NamedConfiguration[],
): { chunkShape: readonly number[]; codecs: readonly NamedConfiguration[] } {
  const before: NamedConfiguration[] = [];
  let chunkShape = objectShape;
  let named = codecs;
  for (;;) {
    const place = named.findIndex(({ name }) => name === SHARDS);
    if (place < 0) break;
    before.push(...named.slice(0, place));
    const shape = named[place]!.configuration!.chunk_shape as number[];
    const order = orderOf(before, objectShape.length);
    chunkShape = order === undefined
      ? shape
      : objectShape.map((_, axis) => shape[order.indexOf(axis)]!);
    named = innerCodecs(named[place]!);
  }
  // A filter may make chunks of other dimensions.
  const isSameRank = chunkShape.length === objectShape.length &&
    chunkShape.every((length) => length !== undefined);
  return {
    chunkShape: isSameRank ? chunkShape : objectShape,
    codecs: withOneTranspose([...before, ...named], objectShape.length),
  };
}

/** The order of dimensions after all transposes among codecs; `undefined` if there are none. */
function orderOf(
  codecs: readonly NamedConfiguration[],
  rank: number,
): number[] | undefined {
  const orders = codecs.filter(({ name }) => name === "transpose")
    .map(({ configuration }) => transposeOrder(configuration?.order, rank));
  if (orders.length === 0) return undefined;
  return orders.reduce((before, after) => after.map((axis) => before[axis]!));
}

/** Joins transposes to one, which comes first. The codecs between them see elements one after another. */
function withOneTranspose(
  codecs: readonly NamedConfiguration[],
  rank: number,
): readonly NamedConfiguration[] {
  const isTranspose = ({ name }: NamedConfiguration) => name === "transpose";
  if (codecs.filter(isTranspose).length < 2) return codecs;
  return [
    { name: "transpose", configuration: { order: orderOf(codecs, rank) } },
    ...codecs.filter((codec) => !isTranspose(codec)),
  ];
}

/**
 * Loads the codecs of chunks and, where they are shards, of their inner chunks, to decode
 * whole shards.
 *
 * @param fill The bytes of the fill value, which absent inner chunks have; `undefined` if
 * they are not known, as behind a filter that changes elements.
 * @throws {TypeError} If a codec is unknown.
 * @throws {MetadataError} If a codec refuses its configuration.
 */
export async function createCoder(
  format: ChunkFormat,
  fill: Uint8Array | undefined,
  load: LoadCodecs,
): Promise<ChunkCoder> {
  const { codecs, shape } = format;
  const place = codecs.findIndex(({ name }) => name === SHARDS);
  if (place < 0) return ChunkCoder.create(format, await load(format));
  const rank = shape.length;
  const before = codecs.slice(0, place);
  const after = codecs.slice(place + 1);
  const outer = [
    ...withOneTranspose(before, rank),
    { name: "bytes", configuration: { endian: "little" } },
    ...after,
  ];
  const { entries, isOwn } = await load({ ...format, codecs: outer });
  if (before.length > 0 && !isOwn) {
    throw new TypeError(
      `Cannot decode the codecs ${
        before.map(({ name }) => describe(name)).join(", ")
      } before "${SHARDS}" by codecs of others; expected codecs of this package alone`,
    );
  }
  const order = orderOf(before, rank);
  let metadata: ChunkMetadata = {
    dataType: format.dataType,
    shape: order === undefined ? shape : order.map((axis) => shape[axis]!),
    codecs: outer,
  };
  let shardFill = fill;
  for (const [i, codec] of outer.slice(0, -1 - after.length).entries()) {
    if (codec.name === "transpose") continue;
    const filter = entries[i]!.fromConfig(
      codec.configuration,
      metadata,
    ) as OuterFilter;
    const encoded = filter.getEncodedMeta?.(metadata) ?? metadata;
    // Other filters pass the fill value on as it is, as zarr-python has it.
    const isSame = encoded.dataType === metadata.dataType &&
      !FILL_ENCODERS.includes(codec.name);
    if (!isSame) shardFill = undefined;
    metadata = encoded;
  }
  const { dataType } = metadata;
  const inner = {
    dataType,
    elementSize: dataType === format.dataType
      ? format.elementSize
      : elementForm(dataType)!.size,
    shape: codecs[place]!.configuration!.chunk_shape as number[],
    codecs: innerCodecs(codecs[place]!),
  };
  const shards = shardDecoder(
    parseShardLayout(codecs[place], metadata.shape),
    metadata.shape,
    inner,
    await createCoder(inner, shardFill, load),
    shardFill,
    after.length > 0,
  );
  const bytes = outer.length - after.length - 1;
  // The codecs after the shards learn from the name that these have no known length.
  return ChunkCoder.create(
    { ...format, codecs: outer.with(bytes, codecs[place]!) },
    { isOwn, entries: entries.with(bytes, { fromConfig: () => shards }) },
  );
}

/** A codec from array to array, as far as shards after it depend on it. */
interface OuterFilter {
  getEncodedMeta?(metadata: ChunkMetadata): ChunkMetadata;
}

/** Views bytes as elements, as far as codecs of this package need them. */
function dataOf(
  { buffer, byteOffset, byteLength }: Uint8Array,
  elementSize: number,
) {
  return { buffer, byteOffset, byteLength, BYTES_PER_ELEMENT: elementSize };
}

/**
 * Makes a codec from array to bytes that decodes all inner chunks of a shard.
 *
 * @param shape The shape of a shard.
 * @param format The format of its inner chunks.
 * @param coder What decodes these.
 * @param isDecoded Whether the bytes of a shard may lie in memory into which inner chunks are
 * decoded.
 */
function shardDecoder(
  layout: ShardLayout,
  shape: readonly number[],
  { shape: chunkShape, elementSize: size }: ChunkFormat,
  coder: ChunkCoder,
  fill: Uint8Array | undefined,
  isDecoded: boolean,
) {
  const stride = stridesOf(shape);
  return {
    kind: "array_to_bytes",
    /**
     * @throws {Error} If the shard is damaged, or an inner chunk is absent and the fill value
     * not known.
     */
    async decode(encoded: Uint8Array) {
      const shard = isDecoded ? copyBytes(encoded) : encoded;
      const chunks = chunksIn(shard, layout);
      const bytes = new Uint8Array(
        shape.reduce((product, n) => product * n, size),
      );
      if (chunks.includes(undefined)) {
        if (fill === undefined) {
          throw new TypeError(
            "an inner chunk is absent, and the fill value is not understood",
          );
        }
        const to = { bytes, offset: 0, strides: stride };
        repeatElement(to, fill, shape, size);
      }
      for (const [place, stored] of chunks.entries()) {
        if (stored === undefined) continue;
        const coordinates = coordinatesInShard(place, layout);
        let chunk: ChunkElements;
        try {
          chunk = await coder.decode(stored, undefined);
        } catch (cause) {
          const reason = cause instanceof Error ? cause.message : String(cause);
          throw new Error(`inner chunk ${describe(coordinates)}: ${reason}`, {
            cause,
          });
        }
        const to = {
          bytes,
          strides: stride,
          offset: coordinates.reduce(
            (sum, c, i) => sum + c * chunkShape[i]! * stride[i]!,
            0,
          ),
        };
        copyElements(to, { ...chunk, offset: 0 }, chunkShape, size);
      }
      return { data: dataOf(bytes, size), shape, stride };
    },

    encode(): never {
      throw new TypeError("a shard with further codecs is only decoded");
    },
  };
}

/** Finds the inner chunks of a shard; errors have no key, which the caller adds. */
function chunksIn(shard: Uint8Array, layout: ShardLayout) {
  try {
    return decodeShard(shard, layout, "");
  } catch (cause) {
    throw new Error((cause as Error).message, { cause });
  }
}
