import { describe } from "../../errors/mod.ts";
import { runConcurrently } from "../../runtime/mod.ts";
import type {
  FileChanges,
  FolderKey,
  StoreKey,
  StoreOptions,
} from "../../stores/mod.ts";
import type { ConvertProgress } from "../convert/convert_options.ts";
import { markerKey } from "../convert/unfinished_marker.ts";
import { ChunkList } from "../hierarchy/array_keys.ts";
import { describePlace, type Place } from "../hierarchy/node_location.ts";
import type { ChunkFiles, InPlaceArray } from "./layout.ts";
import {
  changedKey,
  type InPlacePhase,
  type InPlaceState,
  recordKey,
  stagedDocument,
  stagedFolder,
  stagedMarker,
  stagedV2Document,
} from "./state.ts";

/** The number of chunks at once, if no option says it. Waiting for the disk takes most of the time. */
const CONCURRENCY = 16;

/** The number of steps that each chunk takes: its files are added, changed and removed. */
const STEPS = 3;

/** A chunk with its files, and the checksum of the bytes that move to another file. */
export interface RecordedChunk {
  readonly array: InPlaceArray;
  readonly files: ChunkFiles;
  readonly checksum: number;
}

/** Options of a run. */
export interface RunOptions extends StoreOptions {
  readonly concurrency?: number | undefined;
  readonly onProgress?: ((progress: ConvertProgress) => void) | undefined;
}

/** A run of a conversion in place. */
export class InPlaceRun {
  readonly place: Place;
  readonly files: FileChanges;
  /** The arrays whose documents change. */
  readonly arrays: readonly InPlaceArray[];
  /** The number of bytes that were written to files of chunks. */
  bytes = 0;
  /** The number of all chunks. */
  count = 0;
  readonly #options: RunOptions;
  #done = 0;

  constructor(
    place: Place,
    files: FileChanges,
    arrays: readonly InPlaceArray[],
    options: RunOptions,
  ) {
    this.place = place;
    this.files = files;
    this.arrays = arrays;
    this.#options = options;
  }

  /** The number of tasks at once. */
  get concurrency(): number {
    return this.#options.concurrency ?? CONCURRENCY;
  }

  get signal(): AbortSignal | undefined {
    return this.#options.signal;
  }

  /** Runs a step for each chunk, several of them at once. */
  async forEach<T>(
    chunks: Iterable<T>,
    task: (chunk: T) => Promise<void>,
    signal: AbortSignal | undefined = this.signal,
  ): Promise<void> {
    await runConcurrently(chunks, this.concurrency, async (chunk) => {
      await task(chunk);
      this.report(1);
    }, signal);
  }

  /** Adds steps to the progress. */
  report(steps: number): void {
    this.#done += steps;
    const total = STEPS * this.count;
    const done = Math.min(this.#done, total);
    this.#options.onProgress?.({ done, total, bytes: this.bytes });
  }

  /** Marks that a phase has begun. */
  async enter(phase: InPlacePhase): Promise<void> {
    const { files, place } = this;
    await files.rename(stagedMarker(place, phase), markerKey(place.root));
    await files.sync([place.root, stagedFolder(place)]);
  }

  /** Puts a version of all documents in place, unless this was done before. */
  async placeDocuments(
    { documents }: InPlaceState,
    version: "before" | "meanwhile" | "after",
  ): Promise<void> {
    const { files, place } = this;
    const folders = new Set<FolderKey>();
    for (const [i, change] of documents.entries()) {
      const key = changedKey(place, change);
      const staged = stagedDocument(place, i, version);
      if (key === undefined || await files.stat(staged) === undefined) continue;
      await files.rename(staged, key);
      folders.add(folderOf(key));
    }
    await files.sync(folders);
  }

  /** Takes the documents of Zarr v2 away, which lead readers to chunks where they were before. */
  async hideV2Documents({ v2Documents }: InPlaceState): Promise<void> {
    await this.#move(v2Documents.map((key, i) => [
      this.#below(key),
      stagedV2Document(this.place, i),
    ]));
  }

  /** Puts the documents of Zarr v2 back. */
  async showV2Documents({ v2Documents }: InPlaceState): Promise<void> {
    await this.#move(v2Documents.map((key, i) => [
      stagedV2Document(this.place, i),
      this.#below(key),
    ]));
  }

  #below(key: StoreKey): StoreKey {
    return `${this.place.root as StoreKey}${key}`;
  }

  /** Renames files, unless an earlier run has done so. */
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

  /** An error about files that another program has changed meanwhile. */
  changed(key: StoreKey): Error {
    return new Error(
      `Another program has changed ${describe(key)} while ${
        describePlace(this.place)
      } was converted in place`,
    );
  }
}

/** A list of the chunks of an array, as the record holds it. */
export function recordOf({ rank }: InPlaceArray): ChunkList {
  return new ChunkList(rank + 2);
}

/** The folder of a key, and the folders above it up to a node: all of them may be new. */
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
