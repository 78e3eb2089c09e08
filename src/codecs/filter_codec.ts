import { DamageError } from "../errors/mod.ts";
import { coreDataType } from "../metadata/mod.ts";
import type { BytesEntry, Chunk, ChunkMetadata } from "./codec.ts";
import { denseStrides, elementBytes, stridesOf } from "./element_bytes.ts";

/** A filter: functions that encode and decode the elements of a chunk. */
export interface Filter {
  /** The data type of encoded elements. */
  readonly stored: string;
  /** The shape of an encoded chunk, if it is another one. */
  readonly shape?: readonly number[];
  /** @param bytes Elements of the array, which must not be changed. */
  encode(bytes: Uint8Array): Uint8Array;
  /** @param bytes As many encoded elements as there are. */
  decode(bytes: Uint8Array): Uint8Array;
}

/** Parses the configuration of a filter for chunks of an array. */
export type ParseFilter = (
  name: string,
  configuration: unknown,
  metadata: ChunkMetadata,
) => Filter;

/**
 * Makes the codec of a filter.
 *
 * @param bytes zarrita's codec `bytes`, which makes the chunks, since it has the array class of
 * each data type.
 */
export function filterCodec(
  filter: Filter,
  metadata: ChunkMetadata,
  bytes: BytesEntry,
) {
  const { dataType, shape } = metadata;
  const storedMetadata = {
    ...metadata,
    dataType: filter.stored,
    shape: filter.shape ?? shape,
  };
  const chunkOf = async (
    elements: Uint8Array,
    form: ChunkMetadata,
    like: Chunk,
  ): Promise<Chunk> => {
    const decoder = bytes.fromConfig({ endian: "little" }, form);
    const { data } = await decoder.decode(elements);
    const stride = filter.shape === undefined
      ? like.stride
      : stridesOf(form.shape);
    return { data, shape: form.shape, stride };
  };
  return {
    kind: "array_to_array",
    getEncodedMeta: () => storedMetadata,
    encode(chunk: Chunk): Promise<Chunk> {
      const elements = elementBytes(chunk, sizeOf(dataType));
      const like = { ...chunk, stride: denseStrides(chunk) };
      return chunkOf(filter.encode(elements), storedMetadata, like);
    },
    decode(chunk: Chunk): Promise<Chunk> {
      const { buffer, byteOffset, byteLength } = chunk.data;
      const count = storedMetadata.shape.reduce((all, n) => all * n, 1);
      const size = count * sizeOf(filter.stored);
      if (byteLength !== size) {
        throw new DamageError(
          `The chunk has ${byteLength} bytes, where its ${count} elements of ${filter.stored} take ${size}`,
        );
      }
      const elements = new Uint8Array(buffer, byteOffset, byteLength);
      return chunkOf(filter.decode(elements), metadata, chunk);
    },
  };
}

function sizeOf(dataType: string): number {
  return coreDataType(dataType)!.bits! / 8;
}
