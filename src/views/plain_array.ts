import { ArrayStorage } from "../arrays/array_storage.ts";
import { unsizedPart } from "../arrays/unsized_part.ts";
import { DefaultChunkKeyEncoding } from "../chunk_key_encoding/default_chunk_key_encoding.ts";
import { splitCoordinates } from "../chunk_key_encoding/grid_coordinates.ts";
import { describe } from "../metadata/describe.ts";
import type { Store, StoreKey, StoreOptions } from "../stores/store.ts";
import type { ShardBody } from "../shards/range_batches.ts";
import { assertStoreKey } from "../stores/store_key.ts";
import { isPlainKey, type Place, type TranslatedArray } from "./translation.ts";

const PLAIN_ENCODING = /* @__PURE__ */ new DefaultChunkKeyEncoding();

/** Shows an array with other keys or with parts under `default` keys and without parts. */
export class PlainArray implements TranslatedArray {
  readonly root: string;
  /** The store of whole chunks. */
  readonly store: Store;
  /** The store of parts. */
  readonly #parts: Store;
  readonly #storage: ArrayStorage;

  constructor(store: Store, root: string, document: unknown) {
    this.root = root;
    this.#parts = store;
    this.#storage = new ArrayStorage(document);
    this.store = this.#storage.transform(store, root);
  }

  /** The size of all head parts in bytes; 0 if every part has a size. */
  get headSize(): number {
    return this.body?.offset ?? 0;
  }

  /** The first unsized part of each chunk, or the chunk if it has no parts; `null` if every part has a size. */
  get body(): ShardBody | null {
    const part = unsizedPart(this.#storage.layers);
    return part ? { store: this.#parts, ...part } : null;
  }

  get gridShape(): readonly number[] {
    return this.#storage.gridShape;
  }

  placeOf(plainKey: string): Place | undefined {
    const coordinates = gridCoordinates(plainKey, this.gridShape);
    return coordinates && this.at(coordinates);
  }

  /** Returns the store of whole chunks, and the key of a chunk in it. */
  at(coordinates: readonly number[]): Place {
    const key: StoreKey = `${this.root as StoreKey}/${
      this.#storage.keyEncoding.encode(coordinates)
    }`;
    assertStoreKey(key); // Registered encodings may return any text.
    return { store: this.store, key };
  }

  async *list(options: StoreOptions | undefined): AsyncGenerator<StoreKey> {
    const root: StoreKey = `${this.root as StoreKey}/`;
    for await (const found of this.find(options)) {
      if (typeof found !== "string") {
        yield `${root}${PLAIN_ENCODING.encode(found)}`;
      } // A chunk of the view hides any other value under its key.
      else if (!isPlainKey(found.slice(root.length))) yield found;
    }
  }

  /** Lists the coordinates of stored chunks, and the keys of all other values. */
  async *find(
    options: StoreOptions | undefined,
  ): AsyncGenerator<number[] | StoreKey> {
    const root: StoreKey = `${this.root as StoreKey}/`;
    for await (const key of this.store.list!(root, options)) {
      yield this.#storage.coordinatesOf(key.slice(root.length)) ?? key;
    }
  }
}

/** Parses the key of a chunk in a view; returns `undefined` for a key outside the chunk grid. */
export function gridCoordinates(
  plainKey: string,
  gridShape: readonly number[],
): number[] | undefined {
  const coordinates = splitCoordinates(plainKey, 1, "/");
  const isChunk = coordinates?.length === gridShape.length &&
    coordinates.every((coordinate, i) => coordinate < gridShape[i]!);
  return isChunk ? coordinates : undefined;
}

/** An error for the change of a chunk whose key is outside the chunk grid. */
export function outsideGrid(
  plainKey: string,
  { root, gridShape }: TranslatedArray,
): RangeError {
  return new RangeError(
    `Key ${
      describe(`${root}/${plainKey}`)
    } is outside the chunk grid of its array, whose shape is ${
      describe(gridShape)
    }`,
  );
}
