import { ChunkList, parsedArrayOf } from "../../arrays/mod.ts";
import { describe, sentence } from "../../errors/mod.ts";
import { describePlace, type Place } from "../../hierarchy/mod.ts";
import { isArrayDocument, parseZarrJson } from "../../metadata/mod.ts";
import { runConcurrently } from "../../runtime/mod.ts";
import { assertFileSize, decodeFileRecord } from "../../shards/mod.ts";
import { type FileChanges, recover, type StoreKey } from "../../stores/mod.ts";
import type { Conversion, ConvertOptions } from "../convert/convert_options.ts";
import { newInPlaceMarker, setMarker } from "../convert/unfinished_marker.ts";
import {
  bytesOf,
  changedKey,
  type DocumentChange,
  type InPlaceState,
  textOf,
  undone,
} from "./documents.ts";
import type { ByteSpan } from "../stored_chunks.ts";
import { InPlaceArray } from "./in_place_array.ts";

/** The number of chunks at once, if no option says it. Waiting for the disk takes most of the time. */
const DEFAULT_CONCURRENCY = 16;

/** The number of steps that each chunk takes: it is checked, and its files are changed. */
const STEPS = 2;

/** The chunks of each array. */
export type InPlaceChunks = ReadonlyMap<InPlaceArray, ChunkList>;

/** The arrays whose documents change. */
export function arraysOf(
  place: Place,
  documents: readonly DocumentChange[],
): InPlaceArray[] {
  return documents.flatMap(({ path, name, before, after }) =>
    name === "zarr.json" && isArrayDocument(parseZarrJson(bytesOf(before)!))
      ? [new InPlaceArray(place, path, before!, after!)]
      : []
  ).reverse();
}

/** A run of a conversion in place: the steps of its chunks and documents, each of which may be repeated. */
export class InPlaceRun {
  readonly #place: Place;
  readonly #files: FileChanges;
  readonly #state: InPlaceState;
  readonly #arrays: readonly InPlaceArray[];
  readonly #options: ConvertOptions;
  /** The number of bytes that were written to files of chunks. */
  #bytes = 0;
  /** The number of steps that are done. */
  #done = 0;

  constructor(
    place: Place,
    files: FileChanges,
    state: InPlaceState,
    options: ConvertOptions,
  ) {
    this.#place = place;
    this.#files = files;
    this.#state = state;
    this.#arrays = arraysOf(place, state.documents);
    this.#options = options;
  }

  /** The conversion that the run carries out, before a chunk is changed. */
  get conversion(): Conversion {
    const { counts, report } = this.#state;
    return {
      ...report,
      arrays: this.#arrays.map(({ path, source, target }) => ({
        ...{ path, from: source.metadata, metadata: target.metadata },
        chunks: counts[path],
      })),
      total: sumOf(Object.values(counts)),
      ...{ copied: 0, skipped: 0, absent: 0, bytes: 0, isFinished: false },
    };
  }

  /**
   * Throws if a chunk cannot be converted: it lacks files or is too short, a new name is taken,
   * or its file must not be changed in place.
   */
  async check(chunks: InPlaceChunks): Promise<void> {
    await this.#forEach(chunks, async (array, coordinates) => {
      const [from, to] = array.keysOf(coordinates);
      const taken = to.find((key) =>
        !from.includes(key) && this.#files.stat(key) !== undefined
      );
      if (taken !== undefined) {
        throw new Error(
          sentence`Cannot convert in place, since there is a file ${taken} already, where the new layout needs one; remove it, or choose other keys`,
        );
      }
      // The chunk says which of its parts is missing or has another length.
      const size = this.#sizeOf(array, from) ??
        await array.source.size(coordinates, this.#options);
      if (size === undefined) throw this.#changedError(from[0]!);
      const { data } = array.changeOf(coordinates, size);
      const links = data ? this.#files.stat(data.key)?.links ?? 1 : 1;
      if (links === 1) return;
      throw new Error(
        sentence`Cannot change ${
          data!.key
        } in place, since its file has ${links} names (hard links), and would change under all of them; convert to another place`,
      );
    });
  }

  /** Finishes the changes of chunks that a killed run had begun. */
  async recover(): Promise<void> {
    const { store, root } = this.#place;
    const { signal } = this.#options;
    await recover(store, {
      path: root.slice(1),
      ...signal && { signal },
      isPart: (_, key) =>
        this.#arrays.some(({ oldKeys, newKeys }) =>
          oldKeys.isTaken(key) || newKeys.isTaken(key)
        ),
    });
  }

  /**
   * Takes the steps that have not been taken yet. If files cannot be changed, the earlier layout
   * is restored by the same steps; if that fails, by the next run.
   */
  async carryOut(): Promise<Conversion> {
    try {
      await this.#placeDocuments("interim");
      await this.#forEach(
        await this.#list(),
        (array, coordinates) => this.#reshape(array, coordinates),
      );
    } catch (error) {
      if (!this.#state.isUndone) await this.#undo();
      throw error;
    }
    await this.#placeDocuments("after");
    for (const { root } of this.#arrays) {
      await this.#files.removeEmptyFolders(root);
    }
    await setMarker(this.#place, undefined, {});
    const { conversion } = this;
    const { total } = conversion;
    const bytes = this.#bytes;
    return { ...conversion, copied: total, bytes, isFinished: true };
  }

  /** Restores the earlier layout after a failure. The marker tells the next run if that fails, too. */
  async #undo(): Promise<void> {
    try {
      const back = undone(this.#state);
      await setMarker(this.#place, newInPlaceMarker(back), {});
      const run = new InPlaceRun(this.#place, this.#files, back, {});
      await run.recover();
      await run.carryOut();
    } catch {
      // The error of the conversion says more.
    }
  }

  /** Puts a version of all documents in place. */
  async #placeDocuments(version: "interim" | "after"): Promise<void> {
    const { store } = this.#place;
    for (const change of this.#state.documents) {
      const text = change[version];
      const key = changedKey(this.#place, change)!;
      const bytes = await store.get(key, this.#options);
      const found = bytes === undefined ? null : textOf(bytes);
      if (found === text) continue;
      const { before, interim, after } = change;
      if (![before, interim, after].includes(found)) {
        throw this.#changedError(key);
      }
      if (text === null) await this.#files.remove(key);
      else await store.set!(key, bytesOf(text)!, this.#options);
    }
  }

  /** Lists the chunks that have files of the old layout. */
  async #list(): Promise<InPlaceChunks> {
    const chunks = new Map<InPlaceArray, ChunkList>();
    for (const array of this.#arrays) {
      const { source } = array;
      const list = new ChunkList(source.gridShape.length);
      for await (const coordinates of source.list(this.#options)) {
        list.push(coordinates);
      }
      chunks.set(array, list);
    }
    return chunks;
  }

  /** Gives the files of a chunk the new layout, unless they have it. */
  async #reshape(
    array: InPlaceArray,
    coordinates: readonly number[],
  ): Promise<void> {
    const files = this.#files;
    const [from, to] = array.keysOf(coordinates);
    const isThere = (key: StoreKey) => files.stat(key) !== undefined;
    const isLeft = from.some((key) => !to.includes(key) && isThere(key));
    if (to.every(isThere) && !isLeft) return;
    const size = this.#sizeOf(array, from);
    const isStarted = to.some((key) => !from.includes(key) && isThere(key));
    if (size === undefined || isStarted) throw this.#changedError(from[0]!);
    const change = array.changeOf(coordinates, size);
    const { data, renamed } = change;
    const file = data && files.stat(data.key);
    if (file && file.links > 1) throw this.#changedError(data.key);
    const read = async ({ offset, length }: ByteSpan) => {
      if (length === 0) return new Uint8Array();
      const bytes = await array.source
        .getRange(coordinates, { offset, length });
      if (bytes?.length === length) return bytes;
      throw this.#changedError(array.source.key(coordinates));
    };
    const written: { to: StoreKey; bytes: Uint8Array }[] = [];
    for (const { to, ...span } of change.written) {
      written.push({ to, bytes: await read(span) });
      this.#bytes += span.length;
    }
    if (data) {
      const { offset } = data.tail;
      const record = decodeFileRecord(
        await read({ offset, length: array.recordSize }),
      );
      if (record) assertFileSize(record, data.key, file!.size);
      this.#bytes += data.tail.length;
    }
    await files.reshape(from[0]!, {
      removed: from.filter((key) =>
        !to.includes(key) && renamed.every(({ from }) => from !== key)
      ),
      ...data && { data: { ...data, tail: await read(data.tail) } },
      renamed,
      written,
    });
  }

  /** The length of a chunk by its files in the old layout; `undefined` if one is missing, or has another length than its part. */
  #sizeOf(
    { source }: InPlaceArray,
    from: readonly StoreKey[],
  ): number | undefined {
    const { parts } = parsedArrayOf(source);
    let total = 0;
    for (const [i, key] of from.entries()) {
      const size = this.#files.stat(key)?.size;
      if (size === undefined || size !== (parts[i]!.size ?? size)) {
        return undefined;
      }
      total += size;
    }
    return total;
  }

  /** Runs a step of each chunk, several of them at once, and reports the progress. */
  async #forEach(
    chunks: InPlaceChunks,
    task: (
      array: InPlaceArray,
      coordinates: readonly number[],
    ) => Promise<void>,
  ): Promise<void> {
    const { concurrency = DEFAULT_CONCURRENCY, onProgress, signal } =
      this.#options;
    const total = STEPS * sumOf(Object.values(this.#state.counts));
    for (const [array, list] of chunks) {
      await runConcurrently(list, concurrency, async (coordinates) => {
        await task(array, coordinates);
        const done = Math.min(++this.#done, total);
        onProgress?.({ done, total, bytes: this.#bytes });
      }, signal);
    }
  }

  /** An error about a file that another program has changed during the conversion. */
  #changedError(key: StoreKey): Error {
    return new Error(
      `Another program has changed ${describe(key)} while ${
        describePlace(this.#place)
      } was converted in place`,
    );
  }
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}
