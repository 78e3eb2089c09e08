/**
 * The metadata of chunks that zarrita passes to a codec. Only the members that are
 * used here, so that the types fit every version of zarrita.
 */
export interface ChunkMetadata {
  readonly dataType: string;
  readonly shape: readonly number[];
  /** All codecs of the array, in the order in which they encode. */
  readonly codecs?: readonly {
    readonly name: string;
    readonly configuration?: unknown;
  }[];
}

/** A codec from bytes to bytes. */
export interface BytesCoder {
  encode(bytes: Uint8Array): Uint8Array | Promise<Uint8Array>;
  decode(bytes: Uint8Array): Uint8Array | Promise<Uint8Array>;
}

/** The elements of a chunk: a typed array, or zarrita's own `BoolArray`. */
export interface ElementArray {
  readonly buffer: ArrayBufferLike;
  readonly byteOffset: number;
  readonly byteLength: number;
  readonly BYTES_PER_ELEMENT: number;
}

/** A chunk as zarrita passes it. Strides are in elements. */
export interface Chunk {
  readonly data: ElementArray;
  readonly shape: readonly number[];
  readonly stride: readonly number[];
}

/** The decoder of a codec from array to bytes. */
export interface ChunkDecoder {
  decode(bytes: Uint8Array): Chunk | Promise<Chunk>;
}

/** The class of zarrita's codec `bytes`, as the registry holds it. */
export interface BytesEntry {
  fromConfig(
    configuration: { endian: "little" },
    metadata: ChunkMetadata,
  ): ChunkDecoder;
}
