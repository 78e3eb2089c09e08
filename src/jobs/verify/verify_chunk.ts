import {
  type ArrayChunks,
  mostBytes,
  parsedArrayOf,
} from "../../arrays/mod.ts";
import { CHECKSUM_SIZE, verifyChecksum } from "../../checksum/mod.ts";
import { chunkRows, noteKey } from "../../codecs/mod.ts";
import { checkFileRecord, verifyAdoptedFile } from "../../adopt/mod.ts";
import {
  ChecksumError,
  DamageError,
  describe,
  MissingPartError,
  PartSizeError,
  sentence,
  UnfinishedWriteError,
} from "../../errors/mod.ts";
import { coreDataType } from "../../metadata/mod.ts";
import {
  type ChunkBytes,
  decodeFileRecord,
  FILE_RECORD_SIZE,
  innerChunksOf,
  readIndex,
  type ReadShardRange,
  type ShardIndex,
  shardIndexSize,
} from "../../shards/mod.ts";
import {
  type ByteWriter,
  type Store,
  type StoreOptions,
  takeShortcut,
} from "../../stores/mod.ts";
import { checkedStream, endsWithChecksum } from "../chunk_checks.ts";
import { tiffShardProblem } from "../../tiff/mod.ts";
import { zipShardProblems } from "../../zip/mod.ts";
import { runConcurrently } from "../../runtime/mod.ts";
import type {
  ChunkDecoding,
  VerifiedLevel,
  VerifiedShards,
} from "./chunk_decoding.ts";
import { type Finding, finding, type Rule } from "./findings.ts";

/** An array whose chunks are verified. */
export interface VerifiedArray {
  readonly store: Store;
  readonly chunks: ArrayChunks;
  readonly level: VerifiedLevel;
  /** Whether its shards are adopted files. */
  readonly isAdopted: boolean;
}

/** The result of {@linkcode ChunkVerification.run}. */
export interface VerifiedChunk {
  readonly isPresent: boolean;
  readonly findings: readonly Finding[];
  /** The number of chunks and inner chunks that were not decoded, by what could not be decoded. */
  readonly undecoded: ReadonlyMap<string, number>;
}

/** A writer that discards all bytes. */
const NOWHERE: ByteWriter = {
  write: (bytes) => Promise.resolve(bytes.length),
  close() {},
};

/** A chunk, or an inner chunk. */
interface Piece extends ChunkBytes {
  readonly level: VerifiedLevel;
  /** The place of the inner chunk in its shard, after the places of the shards around it; empty for a stored chunk. */
  readonly path: readonly number[];
  /** The coordinates of the first element in the array. */
  readonly first: readonly number[];
}

/** The verification of a chunk: its parts, its length, its checksum, and the index of a shard. */
export class ChunkVerification {
  readonly #undecoded = new Map<string, number>();
  readonly #array: VerifiedArray;
  readonly #coordinates: readonly number[];
  readonly #decoding: ChunkDecoding | undefined;
  readonly #options: StoreOptions & { readonly signal: AbortSignal };
  readonly #key: string;
  /** The findings, with the places of their inner chunks, as in `Piece`. */
  readonly #found: {
    readonly path: readonly number[];
    readonly finding: Finding;
  }[] = [];

  /** @param decoding What decodes chunks and inner chunks; `undefined` if they are not decoded. */
  constructor(
    array: VerifiedArray,
    coordinates: readonly number[],
    decoding: ChunkDecoding | undefined,
    signal: AbortSignal,
  ) {
    this.#array = array;
    this.#coordinates = coordinates;
    this.#decoding = decoding;
    this.#options = { signal };
    this.#key = array.chunks.key(coordinates);
  }

  get #isDeep(): boolean {
    return this.#decoding !== undefined;
  }

  /** Reads a range of the stored chunk. */
  readonly #read: ReadShardRange = (range) =>
    this.#array.chunks.getRange(this.#coordinates, range, this.#options);

  /** Verifies the chunk. The findings are in the order of inner chunks, those about the whole chunk first. */
  async run(): Promise<VerifiedChunk> {
    const isPresent = await this.#verify();
    const findings = this.#found
      .sort((a, b) => comparePaths(a.path, b.path))
      .map(({ finding }) => finding);
    return { isPresent, findings, undecoded: this.#undecoded };
  }

  /** Returns whether the chunk is present. */
  async #verify(): Promise<boolean> {
    const { store, chunks, isAdopted } = this.#array;
    if (!isAdopted) return await this.#verifyValue();
    let hasRecord: boolean | undefined;
    const isUnchanged = await this.#try(async () => {
      const place = { store, key: chunks.key(this.#coordinates) };
      hasRecord = await checkFileRecord(place, this.#options);
    }, "adopted-file-changed");
    if (!isUnchanged) return true;
    const isPresent = await this.#verifyValue();
    if (this.#found.length > 0) return isPresent;
    if (hasRecord === false) {
      this.#add(
        "adopted-file-record",
        sentence`The index of ${this.#key} has no record of its file, so that readers do not notice if the file is replaced`,
      );
    } else if (hasRecord) {
      const problems = verifyAdoptedFile(
        store,
        chunks,
        this.#coordinates,
        this.#isDeep,
        this.#options,
      );
      for await (const { kind, message } of problems) {
        const isFile = kind === "file";
        this.#add(
          isFile ? "adopted-file-changed" : "inner-chunk-checksum",
          message,
        );
      }
    }
    return isPresent;
  }

  /** Verifies the chunk as it is stored. Returns whether it is present. */
  async #verifyValue(): Promise<boolean> {
    const { chunks, level } = this.#array;
    let size: number | undefined;
    const isRead = await this.#try(async () => {
      size = await chunks.size(this.#coordinates, this.#options);
    }, "part-missing");
    if (!isRead) return true;
    if (size === undefined) return false;
    if (level.size !== undefined && size !== level.size) {
      this.#add(
        "chunk-size",
        sentence`Chunk ${this.#key} is ${size} bytes long, where its elements take ${level.size}`,
      );
      return true;
    }
    const read = this.#read;
    const first = this.#coordinates.map((coordinate, i) =>
      coordinate * level.shape[i]!
    );
    const piece = { level, size, read, path: [], first };
    // Decoding verifies the checksum, too, but reports a chunk too short for one under another rule.
    const isDecoded = this.#isDeep && level.shards === undefined &&
      size >= CHECKSUM_SIZE;
    const isSound = !endsWithChecksum(level.codecs) || isDecoded ||
      await this.#verifyChecksum(size);
    if (isSound) await this.#verifyPiece(piece);
    return true;
  }

  /** Reads the whole chunk in constant memory. */
  async #verifyChecksum(size: number): Promise<boolean> {
    const chunk = { key: this.#key, size };
    return await this.#try(async () => {
      const { chunks } = this.#array;
      // Without the signal, files are read without copies. The signal ends the draining.
      const stream = await chunks.stream(this.#coordinates);
      if (stream === undefined) return;
      const checked = checkedStream(stream, { hasChecksum: true }, chunk);
      const drain = takeShortcut(checked, "drain")!;
      await drain(NOWHERE, this.#options);
    }, "chunk-checksum");
  }

  async #verifyPiece(piece: Piece): Promise<void> {
    const { level } = piece;
    if (level.shards !== undefined) {
      return await this.#verifyShard(piece, level.shards);
    }
    if (this.#decoding !== undefined) await this.#decode(piece, this.#decoding);
  }

  async #decode(
    { level, path, first, size, read }: Piece,
    decoding: ChunkDecoding,
  ): Promise<void> {
    const rule = path.length === 0 ? "chunk-decoding" : "inner-chunk-decoding";
    const { shape } = this.#array.chunks.metadata;
    const names = level.codecs.map(({ name }) => name);
    // The last strips of adopted TIFF files have no rows outside of the array.
    const rows = chunkRows(level.shape, shape, first, names);
    const most = mostBytes(level.shape, coreDataType(level.dataType)?.bits);
    const [what, key] = [this.#nameOf(path), this.#key];
    const chunk = {
      ...{ level, size, what, key },
      async read() {
        if (size > most) {
          throw new DamageError(
            `${what} has ${size} bytes, where its elements can take at most ${most} once they are encoded`,
            { key },
          );
        }
        const bytes = await read({ offset: 0, length: size });
        if (bytes !== undefined) noteKey(bytes, "", rows, () => what);
        return bytes;
      },
    };
    await this.#try(
      async () => {
        const unknown = await decoding.decode(chunk, this.#options.signal);
        if (unknown === undefined) return;
        const count = this.#undecoded.get(unknown) ?? 0;
        this.#undecoded.set(unknown, count + 1);
      },
      rule,
      path,
    );
  }

  /** Verifies the index of a shard and, if the verification is deep, the inner chunks. */
  async #verifyShard(
    { size, read, path, first }: Piece,
    { layout, checksumsSize, inner }: VerifiedShards,
  ): Promise<void> {
    const indexSize = shardIndexSize(layout);
    const end = size - checksumsSize;
    if (end < indexSize) {
      const message = `${
        this.#nameOf(path)
      } is ${size} bytes long, where its index takes ${
        indexSize + checksumsSize
      }`;
      return this.#add("chunk-size", message, path);
    }
    const shard: ChunkBytes = { size: end, read };
    let index: ShardIndex | undefined;
    await this.#try(
      async () => {
        index = await readIndex(shard, layout, this.#key);
      },
      "index-extents",
      path,
    );
    if (!this.#isDeep || index === undefined) return;
    // The checksum of a stored shard is verified already.
    if (checksumsSize > 0 && path.length > 0) {
      const isRight = await this.#try(
        async () => {
          const bytes = await read({ offset: 0, length: size });
          if (bytes) verifyChecksum(bytes, () => this.#nameOf(path), this.#key);
        },
        "inner-chunk-checksum",
        path,
      );
      if (!isRight) return;
    }
    if (path.length === 0 && !this.#array.isAdopted) {
      const fileSize = await this.#sizeOfFile(end - indexSize);
      const isExpected = (suffix: RegExp) =>
        suffix.test(this.#key) && this.#beginsWithFile(index!);
      const problem = await tiffShardProblem(this.#array.chunks.metadata, {
        coordinates: this.#coordinates,
        index,
        size: fileSize,
        isExpected: isExpected(/\.tiff?$/i),
        read: this.#read,
      });
      if (problem !== undefined) {
        this.#add(
          "shard-file",
          `TIFF ${describe(this.#key)} ${problem}: write the shard anew`,
        );
      }
      const { store, chunks } = this.#array;
      const key = chunks.key(this.#coordinates);
      const wasAdopted = fileSize < end - indexSize;
      const problems = zipShardProblems(
        {
          ...{ store, key, index, read: this.#read },
          isExpected: isExpected(/\.(?:zip|ozx)$/i),
          ...wasAdopted && { fileSize },
        },
        this.#options,
      );
      for await (const { kind, message } of problems) {
        const rule = kind === "bytes" ? "inner-chunk-checksum" : "shard-file";
        this.#add(rule, message);
      }
    }
    await runConcurrently(
      innerChunksOf(shard, index, layout),
      inner.shards ? 1 : this.#decoding!.tasksOf(inner),
      (chunk) =>
        this.#verifyPiece({
          level: inner,
          size: chunk.size,
          read: chunk.read,
          path: [...path, chunk.place],
          first: chunk.coordinates.map((coordinate, i) =>
            first[i]! + coordinate * inner.shape[i]!
          ),
        }),
      this.#options.signal,
    );
  }

  /**
   * Whether a shard has bytes before all of its inner chunks that are those of another file
   * format, since neither head parts nor the index lie there.
   */
  #beginsWithFile(index: ShardIndex): boolean {
    const { layout } = this.#array.level.shards!;
    const [part] = parsedArrayOf(this.#array.chunks).parts;
    return layout.indexLocation === "end" && part?.size === undefined &&
      index.some((entry) => entry !== undefined) &&
      index.every((entry) => entry?.offset !== 0);
  }

  /** The length of the file in a shard, without the record that copies of adopted files have behind it. */
  async #sizeOfFile(size: number): Promise<number> {
    const offset = size - FILE_RECORD_SIZE;
    const bytes = offset < 0
      ? undefined
      : await this.#read({ offset, length: FILE_RECORD_SIZE });
    return bytes && decodeFileRecord(bytes) ? offset : size;
  }

  /** Runs a task, and turns damage into a finding. Returns whether there was none. */
  async #try(
    task: () => Promise<void>,
    rule: Rule,
    path: readonly number[] = [],
  ): Promise<boolean> {
    try {
      await task();
      return true;
    } catch (error) {
      if (error instanceof UnfinishedWriteError) {
        this.#add("chunk-unfinished", error.message, path);
      } else if (error instanceof DamageError) {
        const key = error.key || this.#key;
        this.#add(ruleOf(error, rule), error.message, path, key);
      } else throw error;
      return false;
    }
  }

  #add(
    rule: Rule,
    message: string,
    path: readonly number[] = [],
    key = this.#key,
  ): void {
    const found = finding(rule, key, message, this.#coordinates);
    this.#found.push({ path, finding: found });
  }

  #nameOf(path: readonly number[]): string {
    const chunk = describe(this.#key);
    return path.length === 0
      ? `Chunk ${chunk}`
      : `Inner chunk ${path.join(", ")} of ${chunk}`;
  }
}

/** Compares the places of inner chunks; those of an outer shard come first. */
function comparePaths(a: readonly number[], b: readonly number[]): number {
  const i = a.findIndex((place, i) => place !== b[i]);
  if (i < 0) return a.length - b.length;
  return i < b.length ? a[i]! - b[i]! : 1;
}

/**
 * The rule of a finding about damage.
 *
 * @param rule The rule that was being tested.
 */
function ruleOf(error: DamageError, rule: Rule): Rule {
  if (error instanceof MissingPartError) return "part-missing";
  if (error instanceof PartSizeError) return "part-size";
  if (!(error instanceof ChecksumError)) {
    return rule === "chunk-checksum" ? "chunk-size" : rule;
  }
  switch (rule) {
    case "index-extents":
      return "index-checksum";
    case "inner-chunk-decoding":
    case "inner-chunk-checksum":
      return "inner-chunk-checksum";
    default:
      return "chunk-checksum";
  }
}
