import { ArrayStorage } from "../arrays/array_storage.ts";
import { DefaultChunkKeyEncoding } from "../chunk_key_encoding/default_chunk_key_encoding.ts";
import { splitCoordinates } from "../chunk_key_encoding/grid_coordinates.ts";
import { describe } from "../metadata/describe.ts";
import type { Store, StoreKey, StoreOptions } from "../stores/store.ts";
import { assertStoreKey } from "../stores/store_key.ts";
import { isPlainKey, type Place, type TranslatedArray } from "./translation.ts";

const PLAIN_ENCODING = /* @__PURE__ */ new DefaultChunkKeyEncoding();

/** An array with other keys or with parts, shown with `default` keys and without parts. */
export class PlainArray implements TranslatedArray {
  readonly root: string;
  /** The store of whole chunks. */
  readonly store: Store;
  readonly #storage: ArrayStorage;

  constructor(store: Store, root: string, document: unknown) {
    this.root = root;
    this.#storage = new ArrayStorage(document);
    this.store = this.#storage.transform(store, root);
  }

  /** The length of the parts that come before the unsized one, in bytes; 0 where none is unsized. */
  get headSize(): number {
    const parts = this.#storage.transformers[0]?.parts ?? [];
    const unsized = parts.findIndex(({ size }) => size === undefined);
    return parts.slice(0, Math.max(0, unsized))
      .reduce((sum, { size }) => sum + size!, 0);
  }

  placeOf(plainKey: string): Place {
    const { gridShape } = this.#storage;
    return this.at(gridCoordinates(plainKey, gridShape, this.root));
  }

  /** Where the chunk with these grid coordinates is. */
  at(coordinates: readonly number[]): Place {
    const key: StoreKey = `${this.root as StoreKey}/${
      this.#storage.keyEncoding.encode(coordinates)
    }`;
    assertStoreKey(key); // Encodings that were registered may give anything.
    return { store: this.store, key };
  }

  async *list(options: StoreOptions | undefined): AsyncGenerator<StoreKey> {
    const root: StoreKey = `${this.root as StoreKey}/`;
    for await (const found of this.find(options)) {
      if (typeof found !== "string") {
        yield `${root}${PLAIN_ENCODING.encode(found)}`;
      } // What lies where the view shows a chunk cannot be seen.
      else if (!isPlainKey(found.slice(root.length))) yield found;
    }
  }

  /** The coordinates of the chunks that are stored, and the keys of what else is. */
  async *find(
    options: StoreOptions | undefined,
  ): AsyncGenerator<number[] | StoreKey> {
    const root: StoreKey = `${this.root as StoreKey}/`;
    for await (const key of this.store.list!(root, options)) {
      yield this.#storage.coordinatesOf(key.slice(root.length)) ?? key;
    }
  }
}

/** The coordinates of a chunk that a view shows; they must lie in the grid. */
export function gridCoordinates(
  plainKey: string,
  gridShape: readonly number[],
  root: string,
): number[] {
  const coordinates = splitCoordinates(plainKey, 1, "/");
  const isChunk = coordinates?.length === gridShape.length &&
    coordinates.every((coordinate, i) => coordinate < gridShape[i]!);
  if (isChunk) return coordinates;
  throw new RangeError(
    `Key ${
      describe(`${root}/${plainKey}`)
    } is that of no chunk of its array, whose chunk grid is ${
      describe(gridShape)
    }`,
  );
}
