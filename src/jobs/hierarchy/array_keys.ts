import type { ArrayStorage } from "../../arrays/array_storage.ts";
import { storageOf } from "../../arrays/storage_of.ts";
import { ChunkKeyError } from "../../chunk_key_encoding/chunk_key_error.ts";
import { flattenLayers } from "../../concat_parts/flat_parts.ts";
import { ListedParts } from "../../concat_parts/list_chunks.ts";
import type { StoreKey } from "../../stores/store.ts";

/** The kind of a listed key of an array. */
export type ListedKey =
  | { readonly kind: "chunk"; readonly coordinates: readonly number[] }
  /** A further part of a chunk, an object where a chunk in parts would be, or any other key. */
  | { readonly kind: "part" | "stray" | "file" };

/** Tells the chunks of an array from other keys below the array. */
export class ArrayKeys {
  readonly storage: ArrayStorage;
  readonly #prefix: string;
  readonly #parts: ListedParts;
  readonly #suffixes: readonly string[];
  /** The key that was decoded last: most keys are asked for several times. */
  #latest: { key: StoreKey; coordinates: number[] | undefined } | undefined;

  /** @param root The prefix of the array's keys, without a last `/`. */
  constructor(metadata: unknown, root: string) {
    this.storage = storageOf(metadata);
    this.#prefix = `${root}/`;
    const { parts } = flattenLayers(this.storage.layers);
    this.#suffixes = parts.map(({ keySuffix }) => keySuffix);
    this.#parts = new ListedParts(
      parts,
      (key) => this.#coordinatesOf(key) !== undefined,
    );
  }

  /** Takes the next key of a listing. The first part of a chunk stands for the chunk. */
  take(key: StoreKey): ListedKey {
    const chunk = this.#parts.take(key);
    if (chunk === undefined) {
      return {
        kind: this.#coordinatesOf(key) === undefined ? "file" : "stray",
      };
    }
    if (!chunk.isFirst) return { kind: "part" };
    return { kind: "chunk", coordinates: this.#coordinatesOf(chunk.key)! };
  }

  /** The key of the chunk that the object of a key belongs to; `undefined` for other keys. */
  chunkOf(key: StoreKey): StoreKey | undefined {
    return this.#parts.chunkOf(key);
  }

  /** Whether a key is that of a chunk or of a part. */
  isTaken(key: StoreKey): boolean {
    return this.#parts.chunkOf(key) !== undefined ||
      this.#coordinatesOf(key) !== undefined;
  }

  /** Whether a key is that of a part of a chunk, or of a chunk, outside of the grid. */
  isOutsideGrid(key: StoreKey): boolean {
    const { keyEncoding, gridShape } = this.storage;
    const relative = key.slice(this.#prefix.length);
    return ["", ...this.#suffixes].some((suffix) => {
      if (!relative.endsWith(suffix)) return false;
      const chunk = relative.slice(0, relative.length - suffix.length);
      try {
        keyEncoding.decode(chunk, gridShape.length);
        return this.storage.coordinatesOf(chunk) === undefined;
      } catch (error) {
        if (error instanceof ChunkKeyError) return false;
        throw error;
      }
    });
  }

  #coordinatesOf(key: StoreKey): number[] | undefined {
    if (this.#latest?.key !== key) {
      const coordinates = key.startsWith(this.#prefix)
        ? this.storage.coordinatesOf(key.slice(this.#prefix.length))
        : undefined;
      this.#latest = { key, coordinates };
    }
    return this.#latest.coordinates;
  }
}
