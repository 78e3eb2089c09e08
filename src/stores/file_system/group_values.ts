import { assertInGroup } from "../assert_in_group.ts";
import { assertByteRange } from "../byte_range.ts";
import type {
  ByteRange,
  GetOptions,
  StoreKey,
  StoreOptions,
} from "../store.ts";
import type { GroupValues, StoreVersion } from "../store_group.ts";
import { discard } from "../given_value.ts";
import { type DirectPlace, FileVersion } from "./file_version.ts";
import { isOld, type OpenFile } from "./files.ts";
import { WHOLE } from "./reading.ts";

/** The open files of a chunk, all of one write. */
export class FileGroupValues implements GroupValues {
  readonly #keys: readonly StoreKey[];
  readonly #files: readonly (OpenFile | undefined)[];
  readonly #openedAt: number;
  readonly #places: readonly (DirectPlace | undefined)[];
  /** The versions that were told, by their files. */
  readonly #versions = new Map<OpenFile, FileVersion>();
  /** The streams that were opened, by their files. */
  readonly #streams = new Map<OpenFile, ReadableStream<Uint8Array>>();
  /** The last reading of each file, since a file has one place to read from. */
  readonly #readings = new Map<OpenFile, Promise<unknown>>();

  /**
   * @param openedAt A time before the files were opened, in milliseconds.
   * @param places Where the files are, `undefined` for absent files and behind links.
   */
  constructor(
    keys: readonly StoreKey[],
    files: readonly (OpenFile | undefined)[],
    openedAt: number,
    places: readonly (DirectPlace | undefined)[],
  ) {
    this.#keys = keys;
    this.#files = files;
    this.#openedAt = openedAt;
    this.#places = places;
  }

  get(
    key: StoreKey,
    options?: GetOptions,
  ): Promise<Uint8Array | undefined> {
    return this.getRange(key, WHOLE, options);
  }

  async getRange(
    key: StoreKey,
    range: ByteRange,
    options: GetOptions = {},
  ): Promise<Uint8Array | undefined> {
    assertByteRange(range);
    const file = this.#find(key, options);
    if (file === undefined) return undefined;
    const earlier = this.#readings.get(file) ?? Promise.resolve();
    const reading = earlier.catch(() => {})
      .then(() => file.read(key, range, options));
    this.#readings.set(file, reading);
    return await reading;
  }

  // deno-lint-ignore require-await -- so that a bad key is a rejection
  async stream(
    key: StoreKey,
    options: StoreOptions = {},
  ): Promise<ReadableStream<Uint8Array> | undefined> {
    const file = this.#find(key, options);
    if (file === undefined) return undefined;
    const stream = file.stream(options.signal);
    this.#streams.set(file, stream);
    return stream;
  }

  async size(
    key: StoreKey,
    options?: StoreOptions,
  ): Promise<number | undefined> {
    return await this.#find(key, options)?.size();
  }

  version(key: StoreKey): StoreVersion | undefined {
    const file = this.#find(key);
    const state = file?.stat();
    if (state === undefined) return undefined;
    const place = this.#places[this.#keys.indexOf(key)];
    if (isOld(state, this.#openedAt)) return new FileVersion(state, place);
    const version = this.#versions.get(file!) ??
      new FileVersion(state, place, file);
    this.#versions.set(file!, version);
    return version;
  }

  /** Closes all files but those of streams and of versions that were told. */
  close(): void {
    for (const file of this.#files) {
      const isGiven = file === undefined || this.#streams.has(file) ||
        this.#versions.has(file);
      if (!isGiven) file.close();
    }
  }

  /** Closes all files, after a failure. */
  async abandon(reason: unknown): Promise<void> {
    this.close();
    for (const version of this.#versions.values()) version.release();
    for (const stream of this.#streams.values()) {
      await discard(stream, reason);
    }
  }

  #find(key: StoreKey, options?: StoreOptions): OpenFile | undefined {
    options?.signal?.throwIfAborted();
    assertInGroup(this.#keys, key);
    const file = this.#files[this.#keys.indexOf(key)];
    if (file !== undefined && this.#streams.has(file)) {
      throw new TypeError(
        `Value ${
          JSON.stringify(key)
        } is a stream already, and can be read once`,
      );
    }
    return file;
  }
}
