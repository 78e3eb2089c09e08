import { type ChunkRows, decodeChunk, noteKey } from "../codecs/mod.ts";
import { CODEC_BY_NAME, type NamedConfiguration } from "../metadata/mod.ts";
import { copyBytes, nativeZlib, ownBytes } from "../runtime/mod.ts";
import { ChunkCoder, type ChunkFormat, ownCodecs } from "./chunk_coder.ts";
import {
  type ChunkBlock,
  type ChunkElements,
  copyElements,
  copyFromChunk,
  copyIntoChunk,
  isRepeated,
  repeatElement,
} from "./copy_elements.ts";

/** A job of a worker: one chunk is decoded, checked, encoded, or both decoded and encoded. */
export type Job = DecodeJob | CheckJob | EncodeJob | RecodeJob;

/** An encoded chunk. */
interface StoredChunk {
  /** The encoded bytes. Their memory, which other chunks of the request may share, goes to the worker. */
  readonly bytes: Uint8Array;
  /** The rows of a chunk that extends past the end of its array. */
  readonly rows?: ChunkRows | undefined;
}

/** Decodes a chunk. */
export interface DecodeJob extends StoredChunk {
  readonly kind: "decode";
  /** Where elements are copied to, in shared memory. If absent, all elements are returned. */
  readonly block?: ChunkBlock | undefined;
}

/** Decodes a chunk, whose elements nobody needs. */
export interface CheckJob extends StoredChunk {
  readonly kind: "check";
}

/** How the elements of a chunk are encoded. */
interface Encoding {
  /** The element of the chunk outside of the elements that are given. */
  readonly fill?: Uint8Array | undefined;
  /** A chunk of which each element has these bytes is not encoded: the result is `true`. */
  readonly leaveOut?: Uint8Array | undefined;
  /** The strides of the elements that are encoded, in elements. */
  readonly strides: readonly number[];
}

/** Encodes a chunk. */
export interface EncodeJob extends Encoding {
  readonly kind: "encode";
  /** All elements, whose memory goes to the worker. Or elements in shared memory, which are gathered. */
  readonly elements: Uint8Array | ChunkBlock;
}

/** Decodes a chunk, and encodes it by the codecs `recoded` of the format. */
export interface RecodeJob extends StoredChunk, Encoding {
  readonly kind: "recode";
  /** The number of elements along each dimension that are in the array, if some are not. */
  readonly counts?: readonly number[] | undefined;
}

/**
 * The result of a job: elements, encoded bytes, `true` if elements were copied or checked, or
 * if a chunk was left out, or why the job failed. The calling thread does what has failed.
 */
export type JobResult = ChunkElements | Uint8Array | true | { failed: string };

/** Jobs for the chunks of one format: a message to a worker. */
export interface Request {
  /** The number of the request in its pool. */
  readonly call: number;
  readonly format: ChunkFormat;
  readonly jobs: readonly Job[];
}

/** A message of a worker: its version when it has started, or the results of a request. */
export type Answer = { readonly started: string } | {
  readonly call: number;
  readonly results: readonly JobResult[];
};

/** The threads of a pool, while a task uses them. */
export interface Threads {
  /** The greatest number of threads, from 1. */
  readonly count: number;
  /**
   * Runs jobs in a thread; in the calling thread where none can be started. Jobs that share
   * memory must be given together.
   *
   * @param bytes The length of the decoded chunks.
   * @param signal Ends the wait for a thread.
   * @throws {Error} If the thread ends before it has answered, or the pool was disposed.
   */
  run(
    format: ChunkFormat,
    jobs: readonly Job[],
    bytes: number,
    signal?: AbortSignal,
  ): Promise<readonly JobResult[]>;
}

/** What functions that are given a pool do with it, which is no part of its public members. */
export interface PoolAccess {
  readonly count: number;
  /** Runs a task that uses the threads. */
  use<T>(task: (threads: Threads) => Promise<T>): Promise<T>;
  /** Whether threads have the codecs of a format, and gain time with its chunks. */
  takes(format: ChunkFormat): Promise<boolean>;
  /**
   * Decodes a chunk for `zarr.get`. The decoded bytes of all such chunks are bounded.
   *
   * @returns `undefined` if a thread has failed, and the calling thread is to decode.
   */
  decode(
    format: ChunkFormat,
    chunk: StoredChunk,
  ): Promise<ChunkElements | undefined>;
}

/** The access to each pool. It is found here, so that bundles without a `ThreadPool` hold no code that starts threads. */
export const poolAccess: WeakMap<object, PoolAccess> = new WeakMap();

/** The version of the messages. Pages may load the program of a worker from another release. */
export const MESSAGES = "zarr-parts 1";

/** Codecs that take no more time than the copy of the elements to another thread. */
const CHEAP_CODECS = ["bytes", "transpose", "crc32c"];

/** Whether the calling thread decodes chunks by itself about as fast as it sends them to threads. */
export function isCheapToDecode(codecs: ChunkFormat["codecs"]): boolean {
  return codecs.every(({ name, configuration }) =>
    CHEAP_CODECS.includes(name) && configuration?.endian !== "big"
  );
}

/** Whether threads have a codec of this package: they have no zstd but that of the runtime. */
export function isInThreads({ name }: NamedConfiguration): boolean {
  const by = CODEC_BY_NAME.get(name)?.by;
  const needsZstd = by === "zstd" || by === "blosc";
  return !needsZstd || nativeZlib()?.zstdDecompressSync !== undefined;
}

/** The memory of jobs, which goes to the worker. Memory that threads share stays where it is. */
export function memoryOfJobs(jobs: readonly Job[]): ArrayBuffer[] {
  return memoryOf(jobs.map((job) => {
    const bytes = job.kind === "encode" ? job.elements : job.bytes;
    return bytes instanceof Uint8Array ? bytes : bytes.bytes;
  }));
}

/** The memory of results, which goes to the pool. */
export function memoryOfResults(results: readonly JobResult[]): ArrayBuffer[] {
  return memoryOf(
    results.flatMap((result) =>
      result instanceof Uint8Array
        ? result
        : result !== true && "bytes" in result
        ? result.bytes
        : []
    ),
  );
}

function memoryOf(all: readonly Uint8Array[]): ArrayBuffer[] {
  const memory = all.map(({ buffer }) => buffer).filter((buffer) =>
    buffer instanceof ArrayBuffer && buffer.byteLength > 0
  );
  return Array.from(new Set(memory as ArrayBuffer[]));
}

/** The most formats whose codecs a worker keeps. */
const MOST_FORMATS = 64;

/** Does the jobs of requests. {@linkcode inTurn} runs the calls. */
export class JobRunner {
  /** The codecs of formats, by the formats as JSON. */
  readonly #formats = new Map<string, FormatCoders>();

  /** Does the jobs of a request. The results have memory of their own. */
  async run({ format, jobs }: Request): Promise<JobResult[]> {
    const name = JSON.stringify(format, exactly);
    const coders = this.#formats.get(name) ?? new FormatCoders(format);
    this.#formats.set(name, coders);
    if (this.#formats.size > MOST_FORMATS) {
      const [oldest] = this.#formats.keys();
      this.#formats.delete(oldest!);
    }
    const results: JobResult[] = [];
    for (const job of jobs) {
      try {
        results.push(await coders.run(job));
      } catch (error) {
        results.push({ failed: String(error) });
      }
    }
    return results;
  }
}

/** Tells apart numbers that are the same in JSON, such as -0 and 0, or infinities. */
function exactly(_: string, value: unknown): unknown {
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value !== "number") return value;
  if (Object.is(value, -0)) return "-0";
  return Number.isFinite(value) ? value : String(value);
}

/** The codecs of a format, which are loaded when a job needs them. */
class FormatCoders {
  readonly #format: ChunkFormat;
  #coder: Promise<ChunkCoder> | undefined;
  #recoder: Promise<ChunkCoder> | undefined;

  constructor(format: ChunkFormat) {
    this.#format = format;
  }

  async run(job: Job): Promise<JobResult> {
    switch (job.kind) {
      case "decode":
        return await this.#decode(job);
      case "check":
        return await this.#check(job);
      case "encode":
        return await this.#encode(job);
      case "recode":
        return await this.#recode(job);
    }
  }

  async #decode({ bytes: stored, rows, block }: DecodeJob): Promise<JobResult> {
    const coder = await (this.#coder ??= loadCoder(this.#format));
    const elements = await coder.decode(stored, rows);
    if (block === undefined) {
      // Codecs use the memory of the elements again.
      const { bytes, strides } = elements;
      return { bytes: copyBytes(bytes), strides };
    }
    copyFromChunk(block, elements, this.#format.elementSize);
    return true;
  }

  /** Decodes a chunk as `verify` does in the calling thread without codecs of the caller. */
  async #check({ bytes, rows }: CheckJob): Promise<true> {
    noteKey(bytes, "", rows);
    const encoding = { ...this.#format, size: undefined, reusesMemory: true };
    const unknown = await decodeChunk(bytes, encoding, "The chunk", "");
    if (unknown === undefined) return true;
    throw new TypeError(`Unknown ${unknown}`);
  }

  async #encode({ elements, ...encoding }: EncodeJob): Promise<JobResult> {
    const coder = await (this.#coder ??= loadCoder(this.#format));
    if (elements instanceof Uint8Array) {
      return await encode(elements, encoding, coder);
    }
    const { strides } = encoding;
    const { elementSize } = this.#format;
    const bytes = this.#filled(encoding);
    copyIntoChunk(elements, { bytes, strides }, elementSize);
    return await encode(bytes, encoding, coder);
  }

  async #recode({ bytes: stored, rows, counts, ...encoding }: RecodeJob) {
    const { recoded = [], shape, elementSize } = this.#format;
    const coder = await (this.#coder ??= loadCoder(this.#format));
    const decoded = await coder.decode(stored, rows);
    const { strides } = encoding;
    const bytes = this.#filled(encoding);
    copyElements(
      { bytes, offset: 0, strides },
      { ...decoded, offset: 0 },
      counts ?? shape,
      elementSize,
    );
    this.#recoder ??= loadCoder({ ...this.#format, codecs: recoded });
    return await encode(bytes, encoding, await this.#recoder);
  }

  /** Returns memory for the elements of a chunk, of which some may be filled. */
  #filled({ fill, strides }: Encoding): Uint8Array {
    const { shape, elementSize } = this.#format;
    const length = shape.reduce((product, n) => product * n, elementSize);
    const bytes = new Uint8Array(length);
    if (fill?.some((byte) => byte !== 0)) {
      const to = { bytes, offset: 0, strides };
      repeatElement(to, fill, shape, elementSize);
    }
    return bytes;
  }
}

async function loadCoder(format: ChunkFormat): Promise<ChunkCoder> {
  const codecs = await ownCodecs(format);
  if (codecs !== undefined) return ChunkCoder.create(format, codecs);
  throw new TypeError("This package does not have all of the codecs");
}

async function encode(
  bytes: Uint8Array,
  { leaveOut, strides }: Encoding,
  coder: ChunkCoder,
): Promise<Uint8Array | true> {
  if (leaveOut && isRepeated(bytes, leaveOut)) return true;
  const encoded = await coder.encode({ bytes, strides });
  // The memory of WebAssembly and of the pools of Node cannot go to another thread.
  return ownBytes(encoded);
}
