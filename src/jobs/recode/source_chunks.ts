import { type ArrayChunks, parsedArrayOf } from "../../arrays/mod.ts";
import { type ChunkRows, chunkRows } from "../../codecs/mod.ts";
import { describe } from "../../errors/mod.ts";
import { namedCodecs } from "../../metadata/mod.ts";
import { mapConcurrently } from "../../runtime/mod.ts";
import { backendOf, type Store, type StoreOptions } from "../../stores/mod.ts";
import {
  changedError,
  EncodedChunks,
  innermostChunks,
} from "../../blocks/mod.ts";
import type { StoredChunks } from "../stored_chunks.ts";
import { type ArrayEncoding, sourceEncodingOf } from "./recoding.ts";

/** How many chunks that are stored one by one are read at the same time. */
const READS = 8;

/** An innermost chunk that was read. */
export interface SourceChunk {
  readonly coordinates: readonly number[];
  readonly bytes: Uint8Array;
  /** The rows of a chunk that extends past the end of the array. */
  readonly rows: ChunkRows | undefined;
}

/** Reads the innermost chunks of an array as they are encoded. */
export class SourceChunks {
  readonly encoding: ArrayEncoding;
  /** The number of stored chunks along each dimension. */
  readonly objectGrid: readonly number[];
  readonly #chunks: ArrayChunks;
  readonly #stored: StoredChunks;
  readonly #sharded: EncodedChunks | undefined;
  readonly #codecs: readonly string[];

  /**
   * @param root The prefix of the array's keys, without a last `/`.
   * @param stored The stored chunks.
   * @throws {MetadataError} If the metadata of shards is not valid.
   */
  constructor(
    store: Store,
    root: string,
    chunks: ArrayChunks,
    stored: StoredChunks,
  ) {
    const array = parsedArrayOf(chunks);
    this.encoding = sourceEncodingOf(chunks.metadata);
    this.objectGrid = chunks.gridShape;
    this.#chunks = chunks;
    this.#stored = stored;
    this.#sharded = this.encoding.isSharded
      ? new EncodedChunks(
        backendOf(store),
        root,
        array,
        innermostChunks(array),
      )
      : undefined;
    this.#codecs = namedCodecs(this.encoding.codecs).map(({ name }) => name);
  }

  /** The number of inner chunks of a stored chunk along each dimension. */
  get chunksPerObject(): readonly number[] {
    const { objectShape, chunkShape } = this.encoding;
    return objectShape.map((length, i) => length / chunkShape[i]!);
  }

  /** Whether a stored chunk may be there: not if a listing has not found it. */
  mayHave(object: readonly number[]): boolean {
    return this.#stored.has(object);
  }

  /** The stored chunks that a listing has found; `undefined` if all of the grid may be there. */
  get listed(): Iterable<readonly number[]> | undefined {
    return this.#stored.isAll ? undefined : this.#stored;
  }

  /**
   * Reads chunks: several of one shard, or any without shards.
   *
   * @returns The chunks that are there. Those of one list share memory.
   */
  async read(
    chunks: readonly (readonly number[])[],
    options: StoreOptions,
  ): Promise<SourceChunk[][]> {
    if (this.#sharded !== undefined) {
      const reads = await this.#sharded.read(chunks, options);
      return reads.map((read) =>
        read.map(({ place, bytes, rows }) => ({
          coordinates: chunks[place]!,
          bytes,
          rows,
        }))
      );
    }
    const read = await mapConcurrently(chunks, READS, async (coordinates) => {
      const bytes = await this.#chunks.get(coordinates, options);
      if (bytes === undefined) {
        if (this.#stored.isListed && this.#stored.isExact) {
          throw changedError({ key: this.#chunks.key(coordinates) });
        }
        return [];
      }
      const rows = this.#rowsAt(coordinates);
      return [{ coordinates, bytes, rows }];
    });
    return [read.flat()];
  }

  /** Reads one chunk. */
  async readOne(
    coordinates: readonly number[],
  ): Promise<Uint8Array | undefined> {
    const [read] = await this.read([coordinates], {});
    return read?.[0]?.bytes;
  }

  /** The key of a chunk, or of its shard, and the name of the chunk at the start of a sentence. */
  nameOf(coordinates: readonly number[]): { what: string; key: string } {
    const counts = this.chunksPerObject;
    const object = coordinates.map((c, i) => Math.floor(c / counts[i]!));
    const key = this.#chunks.key(object);
    const inner = coordinates.map((c, i) => c % counts[i]!);
    const what = this.#sharded === undefined
      ? `Chunk ${describe(key)}`
      : `Inner chunk ${describe(inner)} of shard ${describe(key)}`;
    return { what, key };
  }

  #rowsAt(coordinates: readonly number[]): ChunkRows | undefined {
    const { chunkShape } = this.encoding;
    const first = coordinates.map((c, i) => c * chunkShape[i]!);
    const { shape } = this.#chunks.metadata;
    return chunkRows(chunkShape, shape, first, this.#codecs);
  }
}
