import type { ChunkLevel, ParsedArray } from "../../arrays/mod.ts";
import { elementForm } from "../../blocks/mod.ts";
import {
  type ChunkEncoding,
  type Codecs,
  decodeChunk,
  decodedLength,
  rowsOf,
  storedForm,
} from "../../codecs/mod.ts";
import { coreDataType } from "../../metadata/mod.ts";
import { MemoryLimit } from "../../runtime/mod.ts";
import {
  type ChunkFormat,
  isCheapToDecode,
  LEAST_TO_SEND,
  type ThreadPool,
  type Threads,
  withThreads,
} from "../../threads/mod.ts";
import { type FoundShards, shardsOf } from "../chunk_checks.ts";

/** The decoded bytes of chunks after which threads are started, which takes as long as to decode some MiB. */
const LEAST_TO_START = 16 * 2 ** 20;
/** The most encoded bytes of chunks that wait for threads, unless all threads need more for some chunks each. */
const WAITING_BYTES = 16 * 2 ** 20;
/** The chunks that are read, decoded or wait for a thread, for each thread. */
const TASKS_PER_THREAD = 4;

/** How chunks or inner chunks are encoded, as far as it is verified. */
export interface VerifiedLevel extends ChunkEncoding {
  /** The shards, if chunks are shards whose index can be found. */
  readonly shards: VerifiedShards | undefined;
}

/** How shards and their inner chunks are encoded. */
export interface VerifiedShards
  extends Pick<FoundShards, "layout" | "checksumsSize"> {
  readonly inner: VerifiedLevel;
}

/**
 * Returns what is verified of the chunks of an array. Elements of a fixed length that codecs do
 * not know, such as fixed strings, are bytes or numbers along one more dimension.
 */
export function levelOf(
  { metadata: { data_type }, chunk }: ParsedArray,
): VerifiedLevel {
  const name = typeof data_type === "string" ? data_type : data_type.name;
  const form = elementForm(data_type);
  if (form === undefined || coreDataType(name) !== undefined) {
    return chunkLevel(chunk, name);
  }
  if (form.count === 1) return chunkLevel(chunk, form.dataType);
  // The order of elements does not change the length of a chunk.
  const codecs = chunk.codecs.filter(({ name }) => name !== "transpose");
  const shape = [...chunk.shape, form.count];
  return codecs[0]?.name === "bytes"
    ? chunkLevel({ codecs, shape }, form.dataType)
    : chunkLevel(chunk, name);
}

function chunkLevel(
  { codecs, shape, shard }: Pick<ChunkLevel, "codecs" | "shape" | "shard">,
  dataType: string,
): VerifiedLevel {
  const level = { codecs, ...storedForm(codecs, { dataType, shape }) };
  const shards = shardsOf(shard);
  if (shards) {
    const { layout, checksumsSize } = shards;
    const inner = chunkLevel(shards.inner, level.dataType);
    const verified = { layout, checksumsSize, inner };
    return { ...level, size: undefined, shards: verified };
  }
  // A chunk that no codec compresses has one length.
  const end = "the end of the codecs";
  const all = [...codecs, { name: end }];
  const { exact } = decodedLength(end, { ...level, codecs: all });
  return { ...level, size: exact, shards: undefined };
}

/** A chunk that is decoded. */
export interface EncodedChunk {
  readonly level: ChunkEncoding;
  /** The length of the encoded chunk in bytes. */
  readonly size: number;
  readonly read: () => Promise<Uint8Array | undefined>;
  /** The name of the chunk in messages, at the start of a sentence. */
  readonly what: string;
  readonly key: string;
}

/** Runs a task that decodes chunks, in threads if the option `threads` has some. */
export async function withDecoding<T>(
  { codecs, threads: option }: {
    readonly codecs?: Codecs | undefined;
    readonly threads?: ThreadPool | number | undefined;
  },
  task: (decoding: ChunkDecoding) => Promise<T>,
): Promise<T> {
  const isPool = typeof option === "object";
  return await withThreads(
    option,
    (threads) =>
      task(new ChunkDecoding(codecs, threads, isPool ? 0 : LEAST_TO_START)),
  );
}

/** Decodes the chunks of one verification, in threads where this is faster. */
export class ChunkDecoding {
  /** An error that says nothing about a chunk, since a thread has ended. */
  failure: unknown;
  readonly #codecs: Codecs | undefined;
  readonly #threads: Threads | undefined;
  readonly #waiting: MemoryLimit;
  /** The decoded bytes that are still decoded before threads start. */
  #untilStart: number;
  readonly #formats = new Map<ChunkEncoding, ChunkFormat>();
  /** The levels whose chunks the calling thread decodes, since threads do not have their codecs. */
  readonly #here = new Set<ChunkEncoding>();

  constructor(
    codecs: Codecs | undefined,
    threads: Threads | undefined,
    untilStart: number,
  ) {
    this.#codecs = codecs;
    this.#threads = threads;
    this.#untilStart = untilStart;
    const most = TASKS_PER_THREAD * (threads?.count ?? 0);
    this.#waiting = new MemoryLimit(WAITING_BYTES, most);
  }

  /** The number of chunks of a level that are read and decoded at once. */
  tasksOf(level: ChunkEncoding): number {
    const { count = 0 } = this.#threads ?? {};
    return this.#mayGoToThread(level) ? TASKS_PER_THREAD * count : 1;
  }

  /**
   * Reads and decodes a chunk, as `decodeChunk` does: in a thread where this is faster. What a
   * thread fails to decode, the calling thread decodes again, or says what is wrong.
   */
  async decode(
    chunk: EncodedChunk,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { level, size } = chunk;
    if (!this.#goesToThread(level, size)) return await this.#decodeHere(chunk);
    const leave = await this.#waiting.enter(size);
    try {
      const bytes = await chunk.read();
      const isDecoded = bytes === undefined ||
        await this.#decodeInThread(bytes, level, signal);
      if (isDecoded) return undefined;
      // The memory of the bytes went to the thread.
      const unknown = await this.#decodeHere(chunk);
      this.#here.add(level);
      return unknown;
    } finally {
      leave();
    }
  }

  /** Whether threads have the codecs of a level, and the codecs take their time. */
  #mayGoToThread(level: ChunkEncoding): boolean {
    return this.#threads !== undefined && !this.#here.has(level) &&
      !isCheapToDecode(level.codecs);
  }

  #goesToThread(level: ChunkEncoding, size: number): boolean {
    const hasWrongSize = level.size !== undefined && level.size !== size;
    const length = decodedBytes(level) ?? size;
    const isLong = !hasWrongSize && length >= LEAST_TO_SEND;
    if (!isLong || !this.#mayGoToThread(level)) return false;
    if (this.#untilStart <= 0) return true;
    this.#untilStart -= length;
    return false;
  }

  async #decodeHere(
    { read, level, what, key }: EncodedChunk,
  ): Promise<string | undefined> {
    const bytes = await read();
    return bytes && await decodeChunk(bytes, level, what, key, this.#codecs);
  }

  /** Returns whether a thread has decoded a chunk. */
  async #decodeInThread(
    bytes: Uint8Array,
    level: ChunkEncoding,
    signal: AbortSignal,
  ): Promise<boolean> {
    const job = { kind: "check" as const, bytes, rows: rowsOf(bytes) };
    const length = decodedBytes(level) ?? bytes.length;
    try {
      const format = this.#formatOf(level);
      const [result] = await this.#threads!.run(format, [job], length, signal);
      return result === true;
    } catch (error) {
      if (!signal.aborted) this.failure = error;
      throw error;
    }
  }

  #formatOf(level: ChunkEncoding): ChunkFormat {
    const { dataType, shape, codecs } = level;
    const format = this.#formats.get(level) ??
      { dataType, elementSize: 0, shape, codecs };
    this.#formats.set(level, format);
    return format;
  }
}

/** The length of the elements of a chunk in bytes; `undefined` if the data type is not known. */
function decodedBytes(
  { shape, dataType }: ChunkEncoding,
): number | undefined {
  const bits = coreDataType(dataType)?.bits;
  return bits && shape.reduce((product, n) => product * n, bits / 8);
}
