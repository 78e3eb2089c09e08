import {
  type ChunkEncoding,
  type Codecs,
  decodeChunk,
  rowsOf,
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

/** The decoded bytes of chunks after which threads are started, which takes as long as to decode some MiB. */
const LEAST_TO_START = 16 * 2 ** 20;
/** The most encoded bytes of chunks that wait for threads, unless all threads need more for some chunks each. */
const WAITING_BYTES = 16 * 2 ** 20;
const WAITING_PER_THREAD = 4;

/** A chunk that has been read. */
export interface ReadChunk {
  /** Reads the chunk again. */
  readonly read: () => Promise<Uint8Array | undefined>;
  readonly bytes: Uint8Array;
  readonly level: ChunkEncoding;
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
  /** The levels whose chunks the calling thread decodes, since their codecs are cheap, or threads do not have them. */
  readonly #here = new Set<ChunkEncoding>();

  constructor(
    codecs: Codecs | undefined,
    threads: Threads | undefined,
    untilStart: number,
  ) {
    this.#codecs = codecs;
    this.#threads = threads;
    this.#untilStart = untilStart;
    const most = WAITING_PER_THREAD * (threads?.count ?? 0);
    this.#waiting = new MemoryLimit(WAITING_BYTES, most);
  }

  /**
   * Says whether a thread decodes a chunk, and waits until there is memory for it.
   *
   * @param size The length of the encoded chunk in bytes.
   * @returns A function to call once the chunk is decoded; `undefined` if the calling thread
   * decodes it.
   */
  async enterThread(
    level: ChunkEncoding,
    size: number,
  ): Promise<(() => void) | undefined> {
    if (this.#threads === undefined || this.#here.has(level)) return undefined;
    const hasWrongSize = level.size !== undefined && level.size !== size;
    const length = decodedBytes(level) ?? size;
    if (hasWrongSize || length < LEAST_TO_SEND) return undefined;
    if (isCheapToDecode(level.codecs)) {
      this.#here.add(level);
      return undefined;
    }
    if (this.#untilStart > 0) {
      this.#untilStart -= length;
      return undefined;
    }
    return await this.#waiting.enter(size);
  }

  /** Decodes a chunk in the calling thread, as `decodeChunk` does. */
  async decode(
    { bytes, level, what, key }: Omit<ReadChunk, "read">,
  ): Promise<string | undefined> {
    return await decodeChunk(bytes, level, what, key, this.#codecs);
  }

  /** Decodes a chunk in a thread. What a thread fails to decode, the calling thread decodes again, or says what is wrong. */
  async decodeInThread(
    chunk: ReadChunk,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { bytes, level } = chunk;
    const threads = this.#threads;
    if (threads !== undefined) {
      const job = { kind: "check" as const, bytes, rows: rowsOf(bytes) };
      const length = decodedBytes(level) ?? bytes.length;
      try {
        const format = this.#formatOf(level);
        const [result] = await threads.run(format, [job], length, signal);
        if (result === true) return undefined;
      } catch (error) {
        if (!signal.aborted) this.failure = error;
        throw error;
      }
    }
    // The memory of the bytes went to the thread.
    const present = threads ? await chunk.read() : bytes;
    if (present === undefined) return undefined;
    const unknown = await this.decode({ ...chunk, bytes: present });
    this.#here.add(level);
    return unknown;
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
