import type { ChunkRows } from "../codecs/mod.ts";
import type { ChunkFormat } from "./chunk_coder.ts";
import type { ChunkBlock, ChunkElements } from "./copy_elements.ts";

/** What a worker does with one chunk. */
export type Job = DecodeJob | CheckJob | EncodeJob;

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
}

/** What a worker answers to a job: elements, encoded bytes, `true` if elements were copied or checked, or why the job failed. */
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
