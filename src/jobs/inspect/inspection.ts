import type { ArrayMetadata } from "../../metadata/array_metadata.ts";
import type { StoreKey, StoreOptions } from "../../stores/store.ts";

/**
 * Options of {@linkcode inspect}.
 *
 * @example
 * ```ts
 * import type { InspectOptions } from "@zarr-parts/zarr-parts/jobs";
 *
 * const options: InspectOptions = { chunk: [0, 1], sizes: true };
 * ```
 */
export interface InspectOptions extends StoreOptions {
  /**
   * The grid coordinates of a chunk that is described, for an array. Default: the first
   * one that is stored, or the first one of the grid. `null` describes none.
   */
  readonly chunk?: readonly number[] | null | undefined;
  /** Whether the stored chunks are counted, by listing the store. Default: `true`. */
  readonly count?: boolean | undefined;
  /** Whether the lengths of all stored chunks are summed up, each by a request. */
  readonly sizes?: boolean | undefined;
}

/**
 * The nodes that {@linkcode inspect} has found, the given one first.
 *
 * @example
 * ```ts
 * import type { Inspection } from "@zarr-parts/zarr-parts/jobs";
 *
 * const lines = ({ nodes }: Inspection) => nodes.map(({ kind, path }) => `${kind} /${path}`);
 * ```
 */
export interface Inspection {
  /** The node and all nodes below it, by path. */
  readonly nodes: readonly (InspectedGroup | InspectedArray | InvalidNode)[];
  /**
   * The command that finishes a conversion in place, if one of the node, or of a group
   * above it in the store, is not finished.
   */
  readonly unfinished?: string | undefined;
}

/**
 * A node in a group whose document is not valid or not understood.
 *
 * @example
 * ```ts
 * import type { InvalidNode } from "@zarr-parts/zarr-parts/jobs";
 *
 * const line = ({ path, message }: InvalidNode) => `/${path}: ${message}`;
 * ```
 */
export interface InvalidNode {
  /** The kind of the node. */
  readonly kind: "invalid";
  /** The path below the inspected node. */
  readonly path: string;
  /** The problem, with the key of the document. */
  readonly message: string;
}

/**
 * A group.
 *
 * @example
 * ```ts
 * import type { InspectedGroup } from "@zarr-parts/zarr-parts/jobs";
 *
 * const group: InspectedGroup = { kind: "group", path: "images", attributes: {} };
 * ```
 */
export interface InspectedGroup {
  /** The kind of the node. */
  readonly kind: "group";
  /** The path below the inspected node; empty for that node. */
  readonly path: string;
  /** The user's own metadata. */
  readonly attributes: Readonly<Record<string, unknown>>;
}

/**
 * An array, and how it is stored.
 *
 * @example
 * ```ts
 * import type { InspectedArray } from "@zarr-parts/zarr-parts/jobs";
 *
 * const isSparse = ({ stored, gridShape }: InspectedArray) =>
 *   stored !== undefined && stored.chunks < gridShape.reduce((a, b) => a * b, 1);
 * ```
 */
export interface InspectedArray {
  /** The kind of the node. */
  readonly kind: "array";
  /** The path below the inspected node; empty for that node. */
  readonly path: string;
  /** The array's metadata. */
  readonly metadata: ArrayMetadata;
  /** The number of chunks along each dimension. */
  readonly gridShape: readonly number[];
  /** The shape of a stored chunk, in elements; of a shard if the array has shards. */
  readonly chunkShape: readonly number[];
  /** The shape of an inner chunk, in elements, if the array has shards. */
  readonly innerChunkShape: readonly number[] | undefined;
  /** The parts of each chunk, in order. One part with the suffix `""` if there are none. */
  readonly parts: readonly InspectedPart[];
  /** The number of stored chunks; `undefined` if nothing was counted, or the store cannot list. */
  readonly stored:
    | {
      readonly chunks: number;
      /** The number of absent chunks, which readers get as the fill value. */
      readonly absent: number;
      /** The length of all stored chunks together, with the option `sizes`. */
      readonly bytes: number | undefined;
    }
    | undefined;
  /** One chunk; `undefined` for an array without chunks, and for a damaged chunk of a node in a group. */
  readonly chunk: InspectedChunk | undefined;
  /** The damage of that chunk, for a node in a group. */
  readonly damage: string | undefined;
}

/**
 * A part of all chunks of an array.
 *
 * @example
 * ```ts
 * import type { InspectedPart } from "@zarr-parts/zarr-parts/jobs";
 *
 * const index: InspectedPart = { keySuffix: ".index", size: 68, holds: ["index"] };
 * ```
 */
export interface InspectedPart {
  /** The text that follows the chunk key. */
  readonly keySuffix: string;
  /** The size in bytes; `undefined` for the part that takes the rest. */
  readonly size: number | undefined;
  /** The contents of the part, as far as its place tells: data, the index of a shard, the checksum of a chunk. */
  readonly holds: readonly ("data" | "index" | "checksum")[];
}

/**
 * A chunk, and where its bytes are.
 *
 * @example
 * ```ts
 * import type { InspectedChunk } from "@zarr-parts/zarr-parts/jobs";
 *
 * const files = ({ parts }: InspectedChunk) => parts.map(({ key, length }) => `${key} ${length}`);
 * ```
 */
export interface InspectedChunk {
  /** The grid coordinates. */
  readonly coordinates: readonly number[];
  /** The chunk key. */
  readonly key: StoreKey;
  /** The length of the chunk in bytes; `undefined` if the chunk is absent. */
  readonly size: number | undefined;
  /** The stored parts, with their places in the chunk. */
  readonly parts: readonly {
    readonly key: StoreKey;
    readonly offset: number;
    readonly length: number;
  }[];
  /** The index of a shard, and its inner chunks. */
  readonly index:
    | {
      readonly offset: number;
      readonly length: number;
      /** The number of inner chunks along each dimension. */
      readonly chunksPerShard: readonly number[];
      /**
       * The number of inner chunks along each dimension that lie in the array; fewer than
       * `chunksPerShard` at the edges of the array.
       */
      readonly chunksInArray: readonly number[];
      /** The number of inner chunks in the array that are present. */
      readonly present: number;
      /** The places of the inner chunks in the shard; `undefined` for absent ones. */
      readonly innerChunks: readonly (
        | { readonly offset: number; readonly length: number }
        | undefined
      )[];
    }
    | undefined;
}
