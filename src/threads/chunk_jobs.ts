import { type ChunkRows, decodeChunk, noteKey } from "../codecs/mod.ts";
import { CODEC_BY_NAME, type NamedConfiguration } from "../metadata/mod.ts";
import { copyBytes, hasNativeZstd, ownBytes } from "../runtime/mod.ts";
import type { ChunkCoder, ChunkFormat } from "./chunk_coder.ts";
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
interface CheckJob extends StoredChunk {
  readonly kind: "check";
}

/** How the elements of a chunk are encoded. */
export interface Encoding {
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
  return !needsZstd || hasNativeZstd();
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

/** Thrown if codecs refuse elements, or a chunk that is to be changed. */
export class CodecError extends Error {}

/** What decodes and encodes the chunks of a format. */
export interface Coders {
  readonly coder: ChunkCoder;
  /** What encodes chunks again. */
  readonly recoder?: ChunkCoder | undefined;
}

/**
 * Does a job, in any thread. The result has memory of its own. {@linkcode inTurn} runs the calls.
 *
 * @param load Loads the codecs of the format.
 * @throws {CodecError} If elements cannot be encoded.
 * @throws {Error} If a chunk cannot be decoded.
 */
export async function runJob(
  job: Job,
  format: ChunkFormat,
  load: () => Promise<Coders>,
): Promise<JobResult> {
  if (job.kind === "check") return await check(job, format);
  const { shape, elementSize } = format;
  const { coder, recoder } = await load();
  switch (job.kind) {
    case "decode": {
      const chunk = await coder.decode(job.bytes, job.rows);
      if (job.block === undefined) {
        // Codecs use the memory of the elements again.
        return { ...chunk, bytes: copyBytes(chunk.bytes) };
      }
      copyFromChunk(job.block, chunk, elementSize);
      return true;
    }
    case "encode": {
      const { elements } = job;
      return elements instanceof Uint8Array
        ? await encode(elements, job, coder)
        : await encodeMade(gatherChunk(elements, format, job), job, coder);
    }
    case "recode": {
      const chunk = await coder.decode(job.bytes, job.rows);
      const bytes = filledChunk(format, job);
      const to = { bytes, offset: 0, strides: job.strides };
      const counts = job.counts ?? shape;
      copyElements(to, { ...chunk, offset: 0 }, counts, elementSize);
      return await encodeMade(bytes, job, recoder!);
    }
  }
}

/** Decodes a chunk as `verify` does in the calling thread without codecs of the caller. */
async function check(
  { bytes, rows }: CheckJob,
  format: ChunkFormat,
): Promise<true> {
  noteKey(bytes, "", rows);
  const encoding = { ...format, size: undefined, reusesMemory: true };
  const unknown = await decodeChunk(bytes, encoding, "The chunk", "");
  if (unknown === undefined) return true;
  throw new TypeError(`Unknown ${unknown}`);
}

/** Copies the elements of a block into memory for a chunk, whose other elements are filled. */
export function gatherChunk(
  block: ChunkBlock,
  format: ChunkFormat,
  encoding: Encoding,
): Uint8Array {
  const { strides } = encoding;
  const bytes = filledChunk(format, encoding);
  copyIntoChunk(block, { bytes, strides }, format.elementSize);
  return bytes;
}

/** The memory of the latest chunk that was encoded. */
let spare: Uint8Array | undefined;

/** Returns memory for the elements of a chunk, which may be filled. */
function filledChunk(
  { shape, elementSize }: ChunkFormat,
  { fill, strides }: Encoding,
): Uint8Array {
  const length = shape.reduce((product, n) => product * n, elementSize);
  const bytes = spare?.length === length
    ? spare.fill(0)
    : new Uint8Array(length);
  spare = undefined;
  if (fill?.some((byte) => byte !== 0)) {
    const to = { bytes, offset: 0, strides };
    repeatElement(to, fill, shape, elementSize);
  }
  return bytes;
}

/** Encodes a chunk that was made for it, and frees its memory. */
async function encodeMade(
  bytes: Uint8Array,
  encoding: Encoding,
  coder: ChunkCoder,
): Promise<Uint8Array | true> {
  const encoded = await encode(bytes, encoding, coder);
  if (encoded === true || encoded.buffer !== bytes.buffer) {
    spare = bytes;
  }
  return encoded;
}

async function encode(
  bytes: Uint8Array,
  { leaveOut, strides }: Encoding,
  coder: ChunkCoder,
): Promise<Uint8Array | true> {
  if (leaveOut && isRepeated(bytes, leaveOut)) return true;
  try {
    // The memory of WebAssembly and of the pools of Node cannot go to another thread.
    return ownBytes(await coder.encode({ bytes, strides }));
  } catch (cause) {
    throw new CodecError(String(cause), { cause });
  }
}
