import { copyBytes, isSameBytes } from "../runtime/mod.ts";
import type { ChunkBase } from "../shards/mod.ts";
import {
  exclusively,
  type Place,
  readValue,
  replaceValue,
  type StoreKey,
  type StoreOptions,
  write,
} from "../stores/mod.ts";
import { splitPlainKey } from "../views/mod.ts";
import { InnerChunkStore } from "./sharded_array.ts";

/**
 * Thrown if zarrita's `set` changes a part of a chunk, and the chunk was changed after
 * zarrita had read it: by another call of `set`, by `setSharded`, or by another program.
 * The chunk is left as it is; call `set` again. `setSharded` never meets this, since it
 * reads and writes a shard under its lock.
 *
 * @example Two calls at once
 * ```ts
 * import { arrayMetadata, createArrayChunks, MemoryStore } from "@zarr-parts/zarr-parts";
 * import { ChunkChangedError, withZarrParts } from "@zarr-parts/zarr-parts/zarrita";
 * import { assertEquals } from "@std/assert";
 * import * as zarr from "zarrita";
 *
 * const store = new MemoryStore();
 * const metadata = arrayMetadata({ shape: [8], dataType: "uint8", chunkShape: [8] });
 * await createArrayChunks(store, "", metadata);
 * const array = await zarr.open(withZarrParts(store), { kind: "array" });
 *
 * async function add(place: number): Promise<void> {
 *   try {
 *     await zarr.set(array, [place], place);
 *   } catch (error) {
 *     if (!(error instanceof ChunkChangedError)) throw error;
 *     await add(place);
 *   }
 * }
 * await Promise.all([add(1), add(2), add(3)]);
 * assertEquals((await zarr.get(array, [zarr.slice(4)])).data, new Uint8Array([0, 1, 2, 3]));
 * ```
 */
export class ChunkChangedError extends Error {
  /** The name of the class, as error reports show it. */
  override readonly name = "ChunkChangedError";
  /** The key in the store of the chunk, or of the shard that it lies in. */
  readonly key: string;

  /**
   * Constructs an error that names the chunk.
   *
   * @param message What was changed, and what can be done.
   * @param key The key in the store.
   *
   * @example
   * ```ts
   * import { ChunkChangedError } from "@zarr-parts/zarr-parts/zarrita";
   * import { assertEquals } from "@std/assert";
   *
   * assertEquals(new ChunkChangedError("Chunk \"/c/0\" was changed", "/c/0").key, "/c/0");
   * ```
   */
  constructor(message: string, key: string) {
    super(message);
    this.key = key;
  }
}

/** The base of a chunk that is written as a whole, whatever is stored. */
export const WHOLE: ChunkBase = { bytes: undefined };
/** The base of a chunk that was absent. */
const ABSENT: ChunkBase = { bytes: undefined };

/**
 * The base of each object that passes through zarrita's `set`, which is the chunk that
 * the object was made from: of the bytes that `set` reads, of the elements that it decodes
 * and changes, and of the bytes that it encodes.
 */
export const bases = new WeakMap<object, ChunkBase>();

/** Notes that the elements that `set` changes were not decoded, since their chunk is absent. */
export function noteAbsence(elements: object): void {
  if (!bases.has(elements)) bases.set(elements, ABSENT);
}

/** The most bytes of chunks that are kept for arrays of `zarr.create` in one store. */
const MOST_KEPT = 2 ** 28;

/** The reads of a chunk by arrays of `zarr.create` that no write has followed yet. */
interface OpenReads {
  /** The chunk that all of them have read; `undefined` if they have read different ones, or if its bytes are not kept. */
  readonly base: ChunkBase | undefined;
  /** Their number. */
  count: number;
}

/**
 * Writes the chunks of a store of `withZarrParts`. A value that zarrita made from a chunk
 * is stored only if the stored chunk is still the one that zarrita read.
 *
 * zarrita extends the arrays that it opens, but not the arrays that `zarr.create` returns.
 * Nothing tells from which read of such an array a write was made, so that a write is
 * compared with all reads of the chunk since the last write.
 */
export class ChunkWriting {
  readonly #reads = new Map<StoreKey, OpenReads>();
  #kept = 0;
  readonly #mostKept: number;

  /** @param mostKept The most bytes of chunks that are kept to compare them. */
  constructor(mostKept: number = MOST_KEPT) {
    this.#mostKept = mostKept;
  }

  /** Notes what an array of `zarr.create` reads without options, maybe to change it. */
  noteRead(key: StoreKey, bytes: Uint8Array | undefined): void {
    if (splitPlainKey(key) === undefined) return;
    const open = this.#reads.get(key);
    if (open !== undefined) {
      const isSame = open.base !== undefined &&
        isSameBytes(open.base.bytes, bytes);
      if (isSame) open.count++;
      else this.#keep(key, undefined, open.count + 1);
    } else if (this.#kept + (bytes?.length ?? 0) > this.#mostKept) {
      this.#keep(key, undefined, 1);
    } else {
      // zarrita may change the elements in the same memory.
      this.#keep(key, { bytes: bytes && copyBytes(bytes) }, 1);
    }
  }

  /**
   * Stores the value of a key that the view shows.
   *
   * @throws {ChunkChangedError} If the chunk is not the one that the value was made of.
   */
  async write(
    shownKey: StoreKey,
    place: Place,
    value: Uint8Array | ReadableStream<Uint8Array>,
    options: StoreOptions | undefined,
  ): Promise<void> {
    const { store, key } = place;
    const given = bases.get(value) ?? this.#takeBase(shownKey);
    const isChunk = given !== undefined || splitPlainKey(shownKey);
    if (!(value instanceof Uint8Array) || !isChunk) {
      return await write(store, key, value, options);
    }
    const base = given === WHOLE ? undefined : given;
    const isInner = store instanceof InnerChunkStore;
    let isStored = true;
    if (isInner) isStored = await store.change(key, value, base);
    else if (base === undefined) await replaceValue(store, key, value, options);
    else {
      isStored = await exclusively(store, key, async (locked) => {
        const present = await readValue(locked, key, options);
        if (!isSameBytes(base.bytes, present)) return false;
        await write(locked, key, value, options);
        return true;
      }, options);
    }
    if (isStored) return;
    throw new ChunkChangedError(
      `Chunk ${JSON.stringify(shownKey)}${
        isInner ? ` in shard ${JSON.stringify(key)}` : ""
      } was changed since zarrita read it to change a part of it: call zarr.set again${
        isInner ? ", or use setSharded, which never meets this" : ""
      }`,
      key,
    );
  }

  /** Returns what arrays of `zarr.create` have read of a chunk that one of them writes. */
  #takeBase(key: StoreKey): ChunkBase | undefined {
    const open = this.#reads.get(key);
    if (open === undefined) return undefined;
    const { base, count } = open;
    if (base === undefined) {
      throw new TypeError(
        `Cannot write chunk ${
          JSON.stringify(key)
        } by an array that zarr.create gave, since it may have changed since the array read it: open the array by zarr.open, and write it then`,
      );
    }
    if (count > 1) open.count--;
    else {
      this.#kept -= base.bytes?.length ?? 0;
      this.#reads.delete(key);
    }
    return base;
  }

  #keep(key: StoreKey, base: ChunkBase | undefined, count: number): void {
    this.#kept += (base?.bytes?.length ?? 0) -
      (this.#reads.get(key)?.base?.bytes?.length ?? 0);
    this.#reads.set(key, { base, count });
  }
}
