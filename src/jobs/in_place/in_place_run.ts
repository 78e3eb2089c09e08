import type { ChunkList } from "../../arrays/mod.ts";
import { describe } from "../../errors/mod.ts";
import { describePlace, type Place, rootIn } from "../../hierarchy/mod.ts";
import { joinBytes, runConcurrently } from "../../runtime/mod.ts";
import { assertFileSize, decodeFileRecord } from "../../shards/mod.ts";
import type { FileChanges, StoreKey, StoreOptions } from "../../stores/mod.ts";
import type {
  ConvertOptions,
  ConvertProgress,
} from "../convert/convert_options.ts";
import type { ChunkFiles, InPlaceArray } from "./chunk_files.ts";
import { bytesOf, changedKey, type InPlaceState, textOf } from "./documents.ts";

/** The number of chunks at once, if no option says it. Waiting for the disk takes most of the time. */
const DEFAULT_CONCURRENCY = 16;

/** The number of steps that each chunk takes: it is checked, and its files are changed. */
const STEPS = 2;

/** The chunks of each array. */
type Chunks = ReadonlyMap<InPlaceArray, ChunkList>;

/** The files of a chunk that are there in the old layout, with their lengths. */
type OldFiles = readonly { readonly key: StoreKey; readonly size: number }[];

/** A run of a conversion in place: the steps of its chunks and documents, each of which may be repeated. */
export class InPlaceRun {
  readonly place: Place;
  readonly files: FileChanges;
  /** The arrays whose documents change. */
  readonly arrays: readonly InPlaceArray[];
  readonly storeOptions: StoreOptions;
  /** The number of bytes that were written to files of chunks. */
  bytes = 0;
  /** The number of chunks of each array, by the array's path. */
  readonly counts = new Map<string, number>();
  readonly #concurrency: number;
  readonly #onProgress: ((progress: ConvertProgress) => void) | undefined;
  /** The number of steps that are done. */
  #done = 0;

  constructor(
    place: Place,
    files: FileChanges,
    arrays: readonly InPlaceArray[],
    { concurrency = DEFAULT_CONCURRENCY, onProgress, signal }: Pick<
      ConvertOptions,
      "concurrency" | "onProgress" | "signal"
    >,
  ) {
    this.place = place;
    this.files = files;
    this.arrays = arrays;
    this.storeOptions = signal ? { signal } : {};
    this.#concurrency = concurrency;
    this.#onProgress = onProgress;
  }

  /** The number of all chunks. */
  get total(): number {
    return [...this.counts.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Whether a key is that of an object of a chunk, in either layout. */
  isPart(key: StoreKey): boolean {
    return this.arrays.some(({ oldKeys, newKeys }) =>
      oldKeys.isTaken(key) || newKeys.isTaken(key)
    );
  }

  /**
   * Throws if a chunk cannot be converted: it lacks files or is too short, a new name is taken,
   * or its file must not be changed in place.
   */
  async check(chunks: Chunks): Promise<void> {
    await this.#forEach(chunks, async (array, coordinates) => {
      const { source } = array.planned;
      array.assertNoCollision(coordinates);
      const [from, to] = array.keysOf(coordinates);
      const taken = to.find((key) =>
        !from.includes(key) && this.files.stat(key) !== undefined
      );
      if (taken !== undefined) throw takenError(taken);
      const old = this.#oldFiles(array, coordinates);
      // The chunk says which of its parts is missing or has another length.
      const size = old && old.every(({ size }, i) =>
          size === (array.oldSizes[i] ?? size)
        )
        ? sumOf(old)
        : await source.size(coordinates, this.storeOptions);
      if (size === undefined) throw this.#changedError(from[0]!);
      const { data } = array.filesOf(coordinates, size);
      const links = data && this.files.stat(data.from)?.links;
      if (links === undefined || links <= 1) return;
      throw new Error(
        `Cannot change ${
          describe(data!.from)
        } in place, since its file has ${links} names (hard links), and would change under all of them; convert to another place`,
      );
    });
  }

  /** Puts a version of all documents in place. */
  async placeDocuments(
    { documents }: InPlaceState,
    version: "interim" | "after",
  ): Promise<void> {
    const { store } = this.place;
    for (const change of documents) {
      const text = change[version];
      const key = changedKey(this.place, change);
      if (text === undefined || key === undefined) continue;
      const bytes = await store.get(key, this.storeOptions);
      const found = bytes === undefined ? null : textOf(bytes);
      if (found === text) continue;
      const { before, interim, after } = change;
      if (![before, interim, after].includes(found)) {
        throw this.#changedError(key);
      }
      if (text === null) await this.files.remove(key);
      else await store.set!(key, bytesOf(text)!, this.storeOptions);
    }
  }

  /** Gives chunks their new files: adds these, or changes the earlier ones. */
  async change(chunks: Chunks, { arrays }: InPlaceState): Promise<void> {
    const added = new Set(
      arrays.filter(({ isAdded }) => isAdded).map(({ path }) => path),
    );
    await this.#forEach(
      chunks,
      (array, coordinates) =>
        added.has(array.planned.path)
          ? this.#add(array, coordinates)
          : this.#reshape(array, coordinates),
    );
  }

  /** Removes the files of the earlier layout, after new ones were added. */
  async removeOld(chunks: Chunks, { arrays }: InPlaceState): Promise<void> {
    const { files } = this;
    for (const [array, list] of chunks) {
      const { path } = array.planned;
      if (!arrays.some((each) => each.path === path && each.isAdded)) continue;
      for (const coordinates of list) {
        const [from, to] = array.keysOf(coordinates);
        for (const [i, key] of from.entries()) {
          if (to.includes(key)) continue;
          const now = to[array.renamedTo(i)];
          // The old name must not lead to a newer file than the new name.
          const old = files.stat(key);
          if (old && now && files.stat(now)?.ino !== old.ino) {
            throw this.#changedError(key);
          }
          await files.remove(key);
        }
      }
    }
    for (const { planned } of this.arrays) {
      await files.removeEmptyFolders(rootIn(this.place, planned.path));
    }
  }

  /** Adds the new files of a chunk beside the earlier ones, unless they are there. */
  async #add(
    array: InPlaceArray,
    coordinates: readonly number[],
  ): Promise<void> {
    const { files } = this;
    const [from, to] = array.keysOf(coordinates);
    const missing = to.filter((key) => files.stat(key) === undefined);
    if (missing.length === 0) return;
    const old = this.#oldFiles(array, coordinates);
    if (old === undefined) throw this.#changedError(from[0]!);
    const { renamed, written } = array.filesOf(coordinates, sumOf(old));
    for (const { from, to } of renamed) {
      if (missing.includes(to)) await files.link(from, to);
    }
    for (const { to, offset, length } of written) {
      if (!missing.includes(to)) continue;
      const bytes = await this.#read(old, offset, length);
      await this.place.store.set!(to, bytes);
      this.bytes += length;
    }
  }

  /** Gives the files of a chunk the new layout, unless they have it. */
  async #reshape(
    array: InPlaceArray,
    coordinates: readonly number[],
  ): Promise<void> {
    const { files } = this;
    const [from, to] = array.keysOf(coordinates);
    const isThere = (key: StoreKey) => files.stat(key) !== undefined;
    const isLeft = from.some((key) => !to.includes(key) && isThere(key));
    const isNew = to.every(isThere);
    if (isNew && !isLeft) return;
    const old = this.#oldFiles(array, coordinates);
    const isStarted = to.some((key) => !from.includes(key) && isThere(key));
    if (old === undefined || isStarted) throw this.#changedError(from[0]!);
    const changes = array.filesOf(coordinates, sumOf(old));
    const { data, renamed, removed } = changes;
    const links = data && files.stat(data.from)?.links;
    if (links !== undefined && links > 1) throw this.#changedError(data!.from);
    const written = [];
    for (const { to, offset, length } of changes.written) {
      written.push({ to, bytes: await this.#read(old, offset, length) });
      this.bytes += length;
    }
    const tail = await this.#tailOf(array, old, data);
    this.bytes += tail.length;
    await files.reshape(from[0]!, {
      removed: removed.filter((key) =>
        !renamed.some(({ from }) => from === key)
      ),
      ...data && {
        data: {
          key: data.from,
          size: Math.min(data.oldSize, data.newSize),
          tail,
        },
      },
      renamed: data && data.from !== data.to
        ? [...renamed, { from: data.from, to: data.to }]
        : renamed,
      written,
    });
  }

  /** The bytes that the longest file gets at its end. */
  async #tailOf(
    array: InPlaceArray,
    old: OldFiles,
    data: ChunkFiles["data"],
  ): Promise<Uint8Array> {
    if (data === undefined) return new Uint8Array();
    const start = data.offset + Math.min(data.oldSize, data.newSize);
    const recorded = await this.#read(old, start, array.recordSize);
    const record = decodeFileRecord(recorded);
    if (record) assertFileSize(record, data.from, data.oldSize);
    const growth = Math.max(0, data.newSize - data.oldSize);
    return await this.#read(old, start, growth);
  }

  /** The files of a chunk in the old layout; `undefined` if one is missing. */
  #oldFiles(
    array: InPlaceArray,
    coordinates: readonly number[],
  ): OldFiles | undefined {
    const [from] = array.keysOf(coordinates);
    const found = from.map((key) => ({
      key,
      size: this.files.stat(key)?.size,
    }));
    return found.every((file): file is OldFiles[number] =>
        file.size !== undefined
      )
      ? found
      : undefined;
  }

  /** Reads a range of a chunk from its files. */
  async #read(
    old: OldFiles,
    offset: number,
    length: number,
  ): Promise<Uint8Array> {
    const pieces: Uint8Array[] = [];
    let start = 0;
    for (const { key, size } of old) {
      const first = Math.max(offset, start);
      const end = Math.min(offset + length, start + size);
      if (first < end) {
        const range = { offset: first - start, length: end - first };
        const bytes = await this.place.store.getRange!(key, range);
        if (bytes?.length !== range.length) throw this.#changedError(key);
        pieces.push(bytes);
      }
      start += size;
    }
    return joinBytes(pieces);
  }

  /** Runs a step of each chunk, several of them at once, and reports the progress. */
  async #forEach(
    chunks: Chunks,
    task: (
      array: InPlaceArray,
      coordinates: readonly number[],
    ) => Promise<void>,
  ): Promise<void> {
    const total = STEPS * this.total;
    await runConcurrently(
      itemsOf(chunks),
      this.#concurrency,
      async ([array, coordinates]) => {
        await task(array, coordinates);
        const done = Math.min(++this.#done, total);
        this.#onProgress?.({ done, total, bytes: this.bytes });
      },
      this.storeOptions.signal,
    );
  }

  /** An error about a file that another program has changed during the conversion. */
  #changedError(key: StoreKey): Error {
    return new Error(
      `Another program has changed ${describe(key)} while ${
        describePlace(this.place)
      } was converted in place`,
    );
  }
}

function* itemsOf(
  chunks: Chunks,
): Iterable<[InPlaceArray, readonly number[]]> {
  for (const [array, list] of chunks) {
    for (const coordinates of list) yield [array, coordinates];
  }
}

function sumOf(files: OldFiles): number {
  return files.reduce((sum, { size }) => sum + size, 0);
}

function takenError(key: StoreKey): Error {
  return new Error(
    `Cannot convert in place, since there is a file ${
      describe(key)
    } already, where the new layout needs one; remove it, or choose other keys`,
  );
}
