import {
  assertShardInGrid,
  type FileRecoding,
  LARGEST_FILE,
  parseArray,
  parseShardFiles,
  RECODING_RULES,
  type ShardFiles,
  storedEncoding,
  withFileRecord,
  withoutStorage,
} from "../arrays/mod.ts";
import { crc32 } from "../checksum/mod.ts";
import {
  type ChunkKeyEncoding,
  toChunkKeyEncoding,
} from "../chunk_key_encoding/mod.ts";
import {
  checkOptions,
  oneOf,
  type OptionRules,
  sentence,
} from "../errors/mod.ts";
import {
  type ArrayMetadata,
  coreDataType,
  formatZarrJson,
  type NamedConfiguration,
} from "../metadata/mod.ts";
import { joinBytes } from "../runtime/mod.ts";
import {
  coordinatesInShard,
  encodeShardIndex,
  type ShardContainer,
  type ShardIndex,
  type ShardLayout,
} from "../shards/mod.ts";
import { chunkKeyProblem } from "../stores/mod.ts";
import {
  encodeDirectory,
  encodeLocalHeader,
  END_MARK,
  END_SIZE,
  MOST_16,
  type WrittenEntry,
  type ZipEntry,
} from "./zip_records.ts";

/**
 * Makes each shard of an array a complete zip file, whose entries are the inner chunks,
 * stored as they are. Pass the result to `setSharded` as `container`. Absent inner
 * chunks have no entry.
 *
 * The array has the codec `sharding_indexed` with its index at the end. The index is in
 * a part of its own, by `parts: ["", ".index"]`, or it is the comment at the end of the
 * zip, in the same object. With the option `zarrJson`, the shard is an array of its
 * own, too, which zarr-python's `ZipStore` opens; at the edge of the outer array, it
 * ends where that array ends.
 *
 * Files of more than 4 GiB, or of 65,535 entries and more, are written as zip64.
 *
 * Source: https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT
 *
 * @param metadata The metadata of the array.
 * @param options The names of the entries, their time, and whether there is a
 * `zarr.json`.
 * @returns A function that gives the container of a shard by its grid coordinates. It
 * throws a `RangeError` for coordinates outside the chunk grid. The container throws a
 * `RangeError` if two entries have one name, or an entry cannot have its name.
 * @throws {MetadataError} If the metadata is not valid, or a chunk key encoding is.
 * @throws {RangeError} If the array has no shards, an index at the start, parts that
 * divide the zip, or an index that is longer than a comment may be, 65,535 bytes; or if
 * an option is out of range.
 * @throws {TypeError} If an option is unknown or of a wrong type.
 *
 * @example Shards that zarr-python opens alone, with the index beside each
 * ```ts
 * import { arrayMetadata, createArrayChunks, MemoryStore } from "@zarr-parts/zarr-parts";
 * import { zipContainer } from "@zarr-parts/zarr-parts/zip";
 * import { setSharded, withZarrParts } from "@zarr-parts/zarr-parts/zarrita";
 * import { assertEquals } from "@std/assert";
 * import * as zarr from "zarrita";
 *
 * const store = new MemoryStore();
 * const metadata = arrayMetadata({
 *   shape: [300, 400],
 *   dataType: "uint16",
 *   shardShape: [200, 200],
 *   chunkShape: [50, 50],
 *   suffix: ".zip",
 *   parts: ["", ".index"],
 * });
 * await createArrayChunks(store, "", metadata);
 * const array = await zarr.open(withZarrParts(store), { kind: "array" });
 * const container = zipContainer(metadata, { zarrJson: "first" });
 * const values = Uint16Array.from({ length: 300 * 400 }, (_, i) => i % 400);
 * await setSharded(zarr, array, null, values, { container });
 *
 * const zip = await store.get("/c/1/1.zip"); // zarr.json, c/0/0, c/0/1, …
 * assertEquals(zip?.subarray(0, 4), new TextEncoder().encode("PK\x03\x04"));
 * ```
 */
export function zipContainer(
  metadata: ArrayMetadata,
  options: ZipOptions = {},
): (shard: readonly number[]) => ShardContainer {
  assertZipOptions(options);
  const { names = "default", zarrJson } = options;
  const modified = dosTime(options.modified);
  const files = parseShardFiles(metadata, { name: "zip", pieces: "entries" });
  assertComment(files);
  const encoding = typeof names === "function"
    ? undefined
    : toChunkKeyEncoding(names);
  const nameOf = entryNames(
    typeof names === "function" ? names : (chunk) => encoding!.encode(chunk),
    files.shard.layout,
  );
  const { gridShape } = files.array;
  const documentOf = (shard: readonly number[]) =>
    zarrJson && innerDocument(files, encoding!, shard);
  documentOf(gridShape.map(() => 0)); // Throws if no Zarr client could open it.
  return (shard) => {
    assertShardInGrid(shard, gridShape);
    const container = containerOf(files, [...shard], {
      nameOf,
      document: documentOf(shard),
      isDocumentFirst: zarrJson === "first",
      modified,
    });
    return withFileRecord(container, files);
  };
}

/**
 * The options of `zipContainer`.
 *
 * @example
 * ```ts
 * import type { ZipOptions } from "@zarr-parts/zarr-parts/zip";
 *
 * const options: ZipOptions = {
 *   names: ([y, x]) => `tiles/row_${y}/column_${x}.bin`,
 *   modified: new Date("2026-01-31T12:00:00Z"),
 * };
 * ```
 */
export interface ZipOptions {
  /**
   * The names of the entries: a chunk key encoding, by its name, its metadata or an
   * instance, or a function. Both name an inner chunk by its grid coordinates in the
   * shard. Defaults to `"default"`, with names such as `c/0/1`.
   */
  names?:
    | string
    | NamedConfiguration
    | ChunkKeyEncoding
    | ((chunk: readonly number[]) => string)
    | undefined;
  /**
   * The place of an entry `zarr.json`, with which a reader of zip files opens the shard
   * as an array of its own. By default there is no such entry.
   */
  zarrJson?: "first" | "last" | undefined;
  /**
   * The time at which the entries were modified, from 1980 to 2107. Zip files have no
   * time zones; this one is written in UTC, in steps of two seconds. Defaults to the
   * start of 1980, so that equal shards are equal files.
   */
  modified?: Date | undefined;
}

/** The contents of a zip, besides the inner chunks. */
interface Contents {
  /** The name of an inner chunk by its place in the index. */
  readonly nameOf: (place: number) => Uint8Array;
  /** The bytes of the entry `zarr.json`. */
  readonly document: Uint8Array | undefined;
  readonly isDocumentFirst: boolean;
  readonly modified: number;
}

function containerOf(
  files: ShardFiles,
  shard: readonly number[],
  { nameOf, document, isDocumentFirst, modified }: Contents,
): ShardContainer {
  const { indexAfter } = files;
  const entries = new Map<number, { entry: ZipEntry; headerSize: number }>();
  const describeEntry = (name: Uint8Array, bytes: Uint8Array) => {
    const entry = { name, crc: crc32(bytes), size: bytes.length, modified };
    return { entry, header: encodeLocalHeader(entry) };
  };
  const json = document && describeEntry(ZARR_JSON, document);
  const jsonBytes = json && joinBytes([json.header, document]);
  const first = isDocumentFirst && jsonBytes || new Uint8Array();
  const last = !isDocumentFirst && jsonBytes || new Uint8Array();
  return {
    head: () => first,
    before(place, chunk) {
      const { entry, header } = describeEntry(nameOf(place), chunk);
      entries.set(place, { entry, headerSize: header.length });
      return header;
    },
    tail(index, offset) {
      const placed = index.flatMap((extent, place): WrittenEntry[] => {
        if (extent === undefined) return [];
        const { entry, headerSize } = entries.get(place)!;
        return [{ ...entry, offset: extent.offset - headerSize }];
      });
      if (json && isDocumentFirst) placed.unshift({ ...json.entry, offset: 0 });
      else if (json) placed.push({ ...json.entry, offset });
      const start = offset + last.length;
      const directory = encodeDirectory(placed, start, indexAfter);
      const tail = joinBytes([last, directory]);
      if (indexAfter > 0) assertEnd(files, shard, { index, tail });
      return tail;
    },
  };
}

const ZARR_JSON = /* @__PURE__ */ new TextEncoder().encode("zarr.json");

/** Refuses an index that is too long for a comment. */
function assertComment({ indexAfter }: ShardFiles): void {
  if (indexAfter <= MOST_16) return;
  throw new RangeError(
    `Expected an index of at most ${MOST_16} bytes, as it is the comment of the zip, found ${indexAfter} bytes: keep the index in a part of its own by parts: ["", ".index"], or use larger inner chunks`,
  );
}

/** Refuses an index that contains the mark of the end of a zip: readers search this mark from the end of the file. */
function assertEnd(
  { shard: { layout }, indexAfter }: ShardFiles,
  shard: readonly number[],
  { index, tail }: { index: ShardIndex; tail: Uint8Array },
): void {
  const bytes = joinBytes([
    tail.subarray(1 - END_SIZE),
    encodeShardIndex(index, layout).subarray(0, indexAfter),
  ]);
  const isMark = (at: number) =>
    END_MARK.every((byte, i) => bytes[at + i] === byte);
  if (!bytes.some((_, at) => isMark(at))) return;
  throw new RangeError(
    sentence`The index of shard ${shard} holds the bytes that mark the end of a zip, so it cannot be the comment of the zip: write the shard with another alignment, or keep the index in a part of its own by parts: ["", ".index"]`,
  );
}

/**
 * Returns a function that gives the name of an inner chunk in UTF-8 by its place in the index.
 * It throws a `RangeError` if an entry cannot have the name, or another one has it.
 */
function entryNames(
  nameOf: (chunk: readonly number[]) => string,
  layout: ShardLayout,
): (place: number) => Uint8Array {
  const places = new Map<string, number>();
  return (place) => {
    const chunk = coordinatesInShard(place, layout);
    const name = nameOf(chunk);
    if (typeof name !== "string") {
      throw new TypeError(
        sentence`Expected a name for inner chunk ${chunk}, found ${name}`,
      );
    }
    const bytes = new TextEncoder().encode(name);
    const problem = chunkKeyProblem(name) ??
      (bytes.length > MOST_16
        ? `takes ${bytes.length} bytes, of at most ${MOST_16}`
        : undefined);
    if (problem !== undefined) {
      throw new RangeError(
        sentence`The name ${name} of inner chunk ${chunk} ` +
          `${problem}: expected names joined by "/"`,
      );
    }
    const other = places.get(name);
    if (other !== undefined && other !== place) {
      const before = coordinatesInShard(other, layout);
      throw new RangeError(
        sentence`Expected a name of its own for each inner chunk, found ${name} for ${before} and ${chunk}`,
      );
    }
    places.set(name, place);
    return bytes;
  };
}

/**
 * The `zarr.json` of a shard as an array of its own, whose chunks are the inner
 * chunks. At the edge of the outer array, the inner one ends where that array ends.
 *
 * @param shard The grid coordinates of the shard.
 * @throws {MetadataError} If no Zarr client could open the inner array.
 */
function innerDocument(
  { array, shard: { inner } }: ShardFiles,
  names: ChunkKeyEncoding,
  shard: readonly number[],
): Uint8Array {
  const { storage_transformers: _, ...metadata } = array.metadata;
  const document = {
    ...metadata,
    shape: array.chunk.shape.map((length, i) =>
      Math.min(length, metadata.shape[i]! - shard[i]! * length)
    ),
    chunk_grid: {
      name: "regular",
      configuration: { chunk_shape: inner.shape },
    },
    chunk_key_encoding: names.toJSON(),
    codecs: inner.codecs as ArrayMetadata["codecs"],
  };
  return formatZarrJson(parseArray(document, { isNew: true }).metadata);
}

const OPTIONS: OptionRules<ZipOptions> = {
  names: {
    expected: "a chunk key encoding or a function",
    isValid: (value) =>
      ["string", "function", "object"].includes(typeof value) && value !== null,
  },
  zarrJson: oneOf("first", "last"),
  modified: { expected: "a Date", isValid: (value) => value instanceof Date },
};

/** Refuses options that are unknown or of a wrong type. */
function assertZipOptions(options: ZipOptions): void {
  checkOptions(options, OPTIONS, "zipContainer");
  if (options.zarrJson !== undefined && typeof options.names === "function") {
    throw new TypeError(
      'Expected names by a chunk key encoding, which zarr.json can specify, found a function beside "zarrJson"',
    );
  }
}

/** Returns a time as the date and the time of MS-DOS, in one number of 32 bits. */
function dosTime(time: Date | undefined): number {
  if (time === undefined) return 1 << 21 | 1 << 16; // 1980-01-01, 00:00
  const year = time.getUTCFullYear();
  if (!(year >= 1980 && year <= 2107)) {
    const found = Number.isNaN(year) ? "an invalid date" : time.toISOString();
    throw new RangeError(
      `Expected the option "modified" to be from 1980 to 2107, which is the range of zip files, found ${found}`,
    );
  }
  const date = (year - 1980) << 9 | (time.getUTCMonth() + 1) << 5 |
    time.getUTCDate();
  const clock = time.getUTCHours() << 11 | time.getUTCMinutes() << 5 |
    time.getUTCSeconds() >> 1;
  return (date << 16 | clock) >>> 0;
}

/** The most inner chunks whose index can be the comment of a zip. */
const MOST_ENTRIES = 4095;
/** The length of elements that have no fixed one, such as texts. */
const USUAL_LENGTH = 16;

/**
 * Finds the shards nearest to those of an array that can be zip files by
 * {@linkcode zipContainer}. It has the form of the option `recode` of `convert`.
 *
 * A zip needs shards with their index at the end and no codecs after it. Codecs and inner
 * chunks stay as they are. Chunks of an array without shards become inner chunks of files of
 * up to 64 MiB before compression and 4095 entries, along the last dimensions first.
 *
 * @param metadata The metadata of the array.
 * @param options Codecs and shapes in place of those found.
 * @returns The shapes of inner chunks and shards; `undefined` if the shards of the array can
 * be zip files as they are.
 * @throws {MetadataError} If the metadata is not valid.
 * @throws {TypeError} If an option is unknown or of a wrong type.
 *
 * @example
 * ```ts
 * import { arrayMetadata } from "@zarr-parts/zarr-parts";
 * import { fitZip } from "@zarr-parts/zarr-parts/zip";
 * import { assertEquals } from "@std/assert";
 *
 * const metadata = arrayMetadata({
 *   shape: [365, 720, 1440],
 *   dataType: "float32",
 *   chunkShape: [1, 90, 90],
 *   codecs: ["gzip"],
 * });
 * assertEquals(fitZip(metadata), { chunks: [1, 90, 90], shards: [16, 720, 1440] });
 * ```
 */
export function fitZip(
  metadata: ArrayMetadata,
  options: FileRecoding = {},
): FileRecoding | undefined {
  checkOptions(options, RECODING_RULES, "fitZip");
  const { codecs, chunks, shards } = options;
  const parsed = parseArray(metadata);
  const array = parsed.metadata;
  const stored = storedEncoding(parsed);
  const isAsked = [codecs, chunks, shards].some((each) => each !== undefined);
  if (!isAsked && isFitting(array)) return undefined;
  const chunk = chunks ?? stored.chunk;
  return {
    ...codecs !== undefined && { codecs },
    chunks: [...chunk],
    shards: [
      ...shards ??
        stored.shard?.map((length, i) => upTo(length, chunk[i] ?? 1)) ??
        joined(array, chunk),
    ],
  };
}

function isFitting(metadata: ArrayMetadata): boolean {
  try {
    parseShardFiles(withoutStorage(metadata), {
      name: "zip",
      pieces: "entries",
    });
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

function upTo(length: number, step: number): number {
  return Math.ceil(length / step) * step;
}

/** Joins chunks along the last dimensions first, as far as a file keeps small. */
function joined(
  { shape, data_type }: ArrayMetadata,
  chunk: readonly number[],
): number[] {
  const bits = coreDataType(String(data_type))?.bits ?? 8 * USUAL_LENGTH;
  const size = chunk.reduce((product, length) => product * length, bits / 8);
  let most = Math.min(MOST_ENTRIES, Math.floor(LARGEST_FILE / size));
  const shard = [...chunk];
  for (let axis = chunk.length - 1; axis >= 0; axis--) {
    const count = Math.ceil(shape[axis]! / chunk[axis]!);
    const fitting = Math.max(1, Math.min(count, most));
    // Files of about equal length, and none of a few elements.
    const even = Math.ceil(count / Math.ceil(count / fitting)) || 1;
    shard[axis] = chunk[axis]! * even;
    most = Math.floor(most / even);
  }
  return shard;
}
