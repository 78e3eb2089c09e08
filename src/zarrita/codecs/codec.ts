/**
 * What zarrita tells a codec of the chunks it is for. These are the members that
 * are used here, so that the types are those of every zarrita.
 */
export interface ChunkMetadata {
  readonly dataType: string;
  readonly shape: readonly number[];
}

/** The elements of a chunk: a typed array, or zarrita's own `BoolArray`. */
export interface ElementArray {
  readonly buffer: ArrayBufferLike;
  readonly byteOffset: number;
  readonly byteLength: number;
  readonly BYTES_PER_ELEMENT: number;
}

/** A chunk as zarrita hands it over. Strides count elements. */
export interface Chunk {
  readonly data: ElementArray;
  readonly shape: readonly number[];
  readonly stride: readonly number[];
}

/** The decoding half of a codec that makes bytes of a chunk. */
export interface ChunkDecoder {
  decode(bytes: Uint8Array): Chunk | Promise<Chunk>;
}

/** What the registry holds of zarrita's own codec `bytes`. */
export interface BytesEntry {
  fromConfig(
    configuration: { endian: "little" },
    metadata: ChunkMetadata,
  ): ChunkDecoder;
}
