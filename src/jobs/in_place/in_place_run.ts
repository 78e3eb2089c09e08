import { ChunkList } from "../../arrays/mod.ts";
import { describe } from "../../errors/mod.ts";
import { runConcurrently } from "../../runtime/mod.ts";
import type {
  FileChanges,
  FolderKey,
  StoreKey,
  StoreOptions,
} from "../../stores/mod.ts";
import type {
  ConvertOptions,
  ConvertProgress,
} from "../convert/convert_options.ts";
import { markerKey } from "../convert/unfinished_marker.ts";
import { describePlace, type Place } from "../../hierarchy/mod.ts";
import type { ChunkFiles, InPlaceArray } from "./chunk_files.ts";
import {
  changedKey,
  type DocumentVersion,
  type InPlacePhase,
  type InPlaceState,
  recordKey,
  stagedDocument,
  stagedFolder,
  stagedMarker,
  stagedV2Document,
} from "./state.ts";

/** The number of chunks at once, if no option says it. Waiting for the disk takes most of the time. */
const DEFAULT_CONCURRENCY = 16;

/** The number of steps that each chunk takes: its files are added, changed and removed. */
const STEPS = 3;

/** A chunk with its files, and the checksum of the bytes that move to another file. */
export interface RecordedChunk {
  readonly array: InPlaceArray;
  readonly files: ChunkFiles;
  readonly checksum: number;
}

/**
 * A run of a conversion in place: the place, the operations on its files, and the progress.
 * Finds the files that the run has staged, and the record of all chunks.
 */
export class InPlaceRun {
  readonly place: Place;
  readonly files: FileChanges;
  /** The arrays whose documents change. */
  readonly arrays: readonly InPlaceArray[];
  readonly storeOptions: StoreOptions;
  /** The number of tasks at once. */
  readonly concurrency: number;
  /** The number of bytes that were written to files of chunks. */
  bytes = 0;
  /** The number of chunks of each array, by the array's path. */
  readonly counts = new Map<string, number>();
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
    this.concurrency = concurrency;
    this.storeOptions = signal ? { signal } : {};
    this.#onProgress = onProgress;
  }

  /** The number of all chunks. */
  get total(): number {
    return [...this.counts.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Runs a step of each chunk, several of them at once, and reports the progress. */
  async forEach<T>(
    chunks: Iterable<T>,
    task: (chunk: T) => Promise<void>,
  ): Promise<void> {
    await runConcurrently(chunks, this.concurrency, async (chunk) => {
      await task(chunk);
      const total = STEPS * this.total;
      const done = Math.min(++this.#done, total);
      this.#onProgress?.({ done, total, bytes: this.bytes });
    }, this.storeOptions.signal);
  }

  /** Enters a phase: puts its marker in place. */
  async enter(phase: InPlacePhase): Promise<void> {
    const { files, place } = this;
    await files.rename(stagedMarker(place, phase), markerKey(place.root));
    await files.sync([place.root, stagedFolder(place)]);
  }

  /** Puts a version of all documents in place. */
  async placeDocuments(
    { documents }: InPlaceState,
    version: DocumentVersion,
  ): Promise<void> {
    const { place } = this;
    await this.#move(documents.flatMap((change, i) => {
      const staged = stagedDocument(place, i, version);
      const key = changedKey(place, change);
      return key === undefined ? [] : [[staged, key] as const];
    }));
  }

  /** Moves the documents of Zarr v2 away, since they name the earlier keys of chunks. */
  async hideV2Documents({ v2Documents }: InPlaceState): Promise<void> {
    await this.#move(v2Documents.map((key, i) => [
      this.#below(key),
      stagedV2Document(this.place, i),
    ]));
  }

  /** Moves the documents of Zarr v2 back. */
  async showV2Documents({ v2Documents }: InPlaceState): Promise<void> {
    await this.#move(v2Documents.map((key, i) => [
      stagedV2Document(this.place, i),
      this.#below(key),
    ]));
  }

  #below(key: StoreKey): StoreKey {
    return `${this.place.root as StoreKey}${key}`;
  }

  /** Renames the files that an earlier run has not renamed. */
  async #move(
    names: readonly (readonly [from: StoreKey, to: StoreKey])[],
  ): Promise<void> {
    const folders = new Set<FolderKey>();
    for (const [from, to] of names) {
      if (await this.files.stat(from) === undefined) continue;
      await this.files.rename(from, to);
      folders.add(folderOf(from)).add(folderOf(to));
    }
    await this.files.sync(folders);
  }

  /** The recorded chunks; `undefined` if the record was removed. */
  async readRecord(
    { arrays }: InPlaceState,
  ): Promise<Iterable<RecordedChunk> | undefined> {
    const { place: { store }, arrays: known } = this;
    const bytes = await store.get(recordKey(this.place));
    if (bytes === undefined) return undefined;
    const numbers = new Float64Array(bytes.slice().buffer);
    return {
      *[Symbol.iterator]() {
        let start = 0;
        for (const { path, count } of arrays) {
          const array = known.find(({ planned }) => planned.path === path)!;
          for (let i = 0; i < count; i++, start += array.rank + 2) {
            const end = start + array.rank;
            const coordinates = Array.from(numbers.subarray(start, end));
            yield {
              array,
              files: array.filesOf(coordinates, numbers[end]!),
              checksum: numbers[end + 1]!,
            };
          }
        }
      },
    };
  }

  /** An error about a file that another program has changed during the conversion. */
  changedError(key: StoreKey): Error {
    return new Error(
      `Another program has changed ${describe(key)} while ${
        describePlace(this.place)
      } was converted in place`,
    );
  }
}

/** An empty list of the chunks of an array, as the record holds it: coordinates, length and checksum. */
export function recordOf({ rank }: InPlaceArray): ChunkList {
  return new ChunkList(rank + 2);
}

/** The folder of a key, and the folders above it up to the converted node. */
export function* foldersOf(
  key: StoreKey,
  { root }: Place,
): Iterable<FolderKey> {
  for (
    let folder = folderOf(key);
    folder.length >= root.length;
    folder = folderOf(folder as StoreKey)
  ) {
    yield folder;
    if (folder === "") return;
  }
}

/** The folder of a key. */
export function folderOf(key: StoreKey): FolderKey {
  return key.slice(0, key.lastIndexOf("/")) as FolderKey;
}
