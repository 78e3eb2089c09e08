import type { ChunkKeyEncoding } from "../chunk_key_encoding/chunk_key_encoding.ts";
import { ChunkKeyError } from "../chunk_key_encoding/chunk_key_error.ts";
import { parseChunkKeyEncoding } from "../chunk_key_encoding/parse_chunk_key_encoding.ts";
import { ConcatParts } from "../concat_parts/concat_parts.ts";
import type { Part } from "../splitter/part.ts";
import { assertPartKeys, sampleKeys } from "../concat_parts/part_keys.ts";
import {
  type ArrayMetadata,
  parseArrayMetadata,
} from "../metadata/array_metadata.ts";
import { describe } from "../metadata/describe.ts";
import { parseExtension } from "../metadata/extension.ts";
import { below, MetadataError, pointer } from "../metadata/metadata_error.ts";
import type { Store, StoreKey } from "../stores/store.ts";
import { chunkKeyProblem } from "../stores/store_key.ts";

/** How an array's chunks are stored: the chunk grid, the keys and the parts. */
export class ArrayStorage {
  readonly metadata: ArrayMetadata;
  /** The shape of a stored chunk, in elements. */
  readonly chunkShape: readonly number[];
  /** The number of chunks along each dimension. */
  readonly gridShape: readonly number[];
  readonly keyEncoding: ChunkKeyEncoding;
  /** The storage transformers to apply, the nearest to the array first. */
  readonly transformers: readonly ConcatParts[];

  /**
   * @param document The array's metadata, which is checked here.
   * @throws {MetadataError} If the metadata is not valid or not understood.
   */
  constructor(document: unknown) {
    const { metadata, chunkShape, gridShape } = parseArrayMetadata(document);
    this.metadata = metadata;
    this.chunkShape = chunkShape;
    this.gridShape = gridShape;
    this.keyEncoding = below(
      "/chunk_key_encoding",
      () => {
        const encoding = parseChunkKeyEncoding(metadata.chunk_key_encoding);
        for (const key of sampleKeys(encoding, gridShape.length)) {
          assertChunkKey(key);
        }
        return encoding;
      },
    );
    this.transformers = below("/storage_transformers", () => {
      const transformers = (metadata.storage_transformers ?? []).map((
        member,
        i,
      ) => below(pointer("", i), () => parseTransformer(member)));
      assertPartKeys(
        transformers.map((transformer) => transformer?.parts),
        this.keyEncoding,
        gridShape.length,
      );
      return transformers.filter((transformer) => transformer !== undefined);
    });
  }

  /** Decodes a chunk key; returns `undefined` for keys of no chunk in the grid. */
  coordinatesOf(key: string): number[] | undefined {
    const { gridShape, keyEncoding } = this;
    try {
      const coordinates = keyEncoding.decode(key, gridShape.length);
      return coordinates.every((c, i) => c < gridShape[i]!)
        ? coordinates
        : undefined;
    } catch (error) {
      if (error instanceof ChunkKeyError) return undefined;
      throw error;
    }
  }

  /**
   * Applies the storage transformers: returns a store of whole chunks over a store
   * of parts.
   *
   * @param root The prefix of the array's keys, without a last `/`.
   */
  transform(store: Store, root: string): Store {
    // The last transformer is the nearest to the store. Its chunk keys are the part
    // keys of the transformer before it.
    let isChunkKey = (key: StoreKey) =>
      key.startsWith(`${root}/`) &&
      this.coordinatesOf(key.slice(root.length + 1)) !== undefined;
    const layers = this.transformers.map((transformer) => {
      const layer = { transformer, isChunkKey };
      isChunkKey = isPartKeyOf(transformer.parts, isChunkKey);
      return layer;
    });
    return layers.reduceRight<Store>(
      (store, { transformer, isChunkKey }) =>
        transformer.apply(store, { isChunkKey }),
      store,
    );
  }
}

/** Returns a function that recognizes the part keys of chunk keys. */
function isPartKeyOf(
  parts: readonly Part[],
  isChunkKey: (key: StoreKey) => boolean,
): (key: StoreKey) => boolean {
  return (key) =>
    parts.some(({ keySuffix }) =>
      key.endsWith(keySuffix) &&
      isChunkKey(key.slice(0, key.length - keySuffix.length) as StoreKey)
    );
}

function assertChunkKey(key: string): void {
  const problem = chunkKeyProblem(key);
  if (problem === undefined) return;
  throw new MetadataError(`The chunk key ${describe(key)} ${problem}`);
}

/** Parses a storage transformer; returns `undefined` for an unknown one that may be skipped. */
function parseTransformer(member: unknown): ConcatParts | undefined {
  const { name, mustUnderstand } = parseExtension(
    member,
    "storage transformer",
  );
  if (name === "concat-parts") return ConcatParts.parse(member);
  if (!mustUnderstand) return undefined;
  throw new MetadataError(
    `Unknown storage transformer ${describe(name)}; known is "concat-parts"`,
    typeof member === "string" ? "" : "/name",
  );
}
