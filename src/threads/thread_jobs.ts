import type { ChunkRows } from "../codecs/mod.ts";
import type { ChunkFormat } from "./chunk_coder.ts";
import type { ChunkBlock, ChunkElements } from "./copy_elements.ts";

/** A job of a worker: one chunk is decoded, checked, encoded, or both decoded and encoded. */
export type Job = DecodeJob | CheckJob | EncodeJob | RecodeJob;

/** Decodes a chunk. */
export interface DecodeJob {
  readonly kind: "decode";
  /** The encoded bytes. Their memory, which other chunks of the request may share, goes to the worker. */
  readonly bytes: Uint8Array;
  /** The rows of a chunk that extends past the end of its array. */
  readonly rows?: ChunkRows | undefined;
  /** Where elements are copied to, in shared memory. If absent, all elements are returned. */
  readonly block?: ChunkBlock | undefined;
}

/** Decodes a chunk, whose elements nobody needs, by the codecs of this package alone. */
export interface CheckJob {
  readonly kind: "check";
  /** The encoded bytes. Their memory goes to the worker. */
  readonly bytes: Uint8Array;
  /** The rows of a chunk that extends past the end of its array. */
  readonly rows?: ChunkRows | undefined;
}

/** Encodes a chunk. */
export interface EncodeJob {
  readonly kind: "encode";
  /** The elements, whose memory goes to the worker. Or elements in shared memory. */
  readonly elements: Uint8Array | ChunkBlock;
  /** The strides of the elements of the chunk, in elements. Those in shared memory are gathered so. Defaults to C order. */
  readonly strides?: readonly number[] | undefined;
  /** The element of the chunk outside of a block in shared memory. */
  readonly fill?: Uint8Array | undefined;
  /** A chunk of which each element has these bytes is not encoded: the result is `true`. */
  readonly leaveOut?: Uint8Array | undefined;
}

/** Decodes a chunk, and encodes it by the codecs `recoded` of the format. */
export interface RecodeJob {
  readonly kind: "recode";
  /** The encoded bytes. Their memory goes to the worker. */
  readonly bytes: Uint8Array;
  /** The rows of a chunk that extends past the end of its array. */
  readonly rows?: ChunkRows | undefined;
  /** The number of elements along each dimension that are in the array, if some are not. */
  readonly counts?: readonly number[] | undefined;
  /** The strides of the elements that are encoded, in elements. */
  readonly strides: readonly number[];
  /** The element of the chunk outside of the array. */
  readonly fill?: Uint8Array | undefined;
  /** A chunk of which each element has these bytes is not encoded: the result is `true`. */
  readonly leaveOut?: Uint8Array | undefined;
  /** Memory for the elements, which is used where these are the encoded bytes, too. It goes to the worker. */
  readonly memory?: Uint8Array | undefined;
}

/**
 * The result of a job: elements, encoded bytes, `true` if elements were copied or checked, or
 * if a chunk was left out, or why the job failed.
 */
export type JobResult = ChunkElements | Uint8Array | true | { failed: string };

/** A message to a worker. */
export interface Request {
  /** The number of the request in its pool. */
  readonly call: number;
  /** The number of the format in its pool. */
  readonly format: number;
  /** The format, the first time that the worker gets a chunk of it. */
  readonly newFormat?: ChunkFormat | undefined;
  readonly jobs: readonly Job[];
  /** The modules of zarrita to try, for codecs that this package does not have. */
  readonly zarrita: readonly string[];
}

/** A message of a worker: that it has started, or the results of a request. */
export type Answer = { readonly started: true } | {
  readonly call: number;
  readonly results: readonly JobResult[];
  /** The memory of jobs, to be used again. */
  readonly spare: readonly ArrayBuffer[];
};

/** The memory of jobs, which goes to the worker and back. Memory that threads share stays where it is. */
export function memoryOfJobs(jobs: readonly Job[]): ArrayBuffer[] {
  const memory = new Set<ArrayBuffer>();
  const add = ({ buffer }: Uint8Array) => {
    if (buffer instanceof ArrayBuffer && buffer.byteLength > 0) {
      memory.add(buffer);
    }
  };
  for (const job of jobs) {
    const bytes = job.kind === "encode" ? job.elements : job.bytes;
    add(bytes instanceof Uint8Array ? bytes : bytes.bytes);
    if (job.kind === "recode" && job.memory) add(job.memory);
  }
  return [...memory];
}

/**
 * Runs a job in a thread of a pool.
 *
 * @param job Makes the job once there is memory for it.
 * @param bytes The length of the decoded chunk.
 * @returns `undefined` if the pool has no threads, or none can be started.
 * @throws {Error} If the thread ends before it has answered, or the pool was disposed.
 */
export type RunInPool = (
  format: ChunkFormat,
  job: () => Job,
  bytes: number,
) => Promise<JobResult | undefined>;

/** The functions that run the jobs of pools. Callers find them here, so that bundles without a `ThreadPool` hold no code that starts threads. */
const pools = new WeakMap<object, RunInPool>();

/** Notes how jobs of a pool are run. */
export function registerPool(pool: object, run: RunInPool): void {
  pools.set(pool, run);
}

/** Returns the function that runs jobs in a pool; `undefined` if the value is no pool. */
export function poolRunner(pool: unknown): RunInPool | undefined {
  return pools.get(pool as object);
}

/** Chunks of fewer decoded bytes are decoded in the time that it takes to send them to a thread. */
export const LEAST_TO_SEND = 32 * 1024;

/** Codecs that take no more time than the copy of the elements to another thread. */
const CHEAP_CODECS = ["bytes", "transpose", "crc32c"];

/** Whether the calling thread decodes chunks by itself about as fast as it sends them to threads. */
export function isCheapToDecode(codecs: ChunkFormat["codecs"]): boolean {
  return codecs.every(({ name, configuration }) =>
    CHEAP_CODECS.includes(name) && configuration?.endian !== "big"
  );
}
