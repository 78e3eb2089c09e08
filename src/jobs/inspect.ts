import {
  ArrayChunks,
  ChunkList,
  countOfGrid,
  type ParsedArray,
} from "../arrays/mod.ts";
import { CHECKSUM_SIZE } from "../checksum/mod.ts";
import { DamageError, MetadataError } from "../errors/mod.ts";
import { type ArrayMetadata, ceilDivide, isMembers } from "../metadata/mod.ts";
import { runConcurrently } from "../runtime/mod.ts";
import {
  type ChunkBytes,
  coordinatesInShard,
  readIndex,
  shardIndexSize,
} from "../shards/mod.ts";
import type { Part } from "../splitter/mod.ts";
import type { Store, StoreKey, StoreOptions } from "../stores/mod.ts";
import {
  endsWithChecksum,
  type FoundShards,
  shardsOf,
} from "./chunk_checks.ts";
import { partsOfChunk } from "./stored_chunks.ts";
import {
  findInPlace,
  inPlaceCommand,
  inPlaceError,
} from "./convert/unfinished_marker.ts";
import {
  isInvalidInside,
  listHierarchy,
  type NodeSelection,
  pathIn,
  type Place,
  placeOf,
  readNodes,
} from "../hierarchy/mod.ts";

/**
 * Describes an array, or a group with all nodes in it: how it is laid out, how many chunks
 * are stored, and where the bytes of one chunk are.
 *
 * @param store The store.
 * @param path The path of the array or the group; empty for the root.
 * @param options `chunk`: the chunk that is described; `count`: whether chunks are counted;
 * `sizes`: whether their lengths are summed up; `only` and `exclude`: the nodes of a group;
 * `signal`.
 * @returns The node at `path` and all nodes below it.
 * @throws {MetadataError} If no node is at `path`, or the metadata of that node is not
 * valid. Other nodes that are not valid are shown as such.
 * @throws {Error} If a conversion in place is not finished, and the node does not open
 * until then.
 * @throws {DamageError} If the chunk that is described is damaged.
 * @throws {TypeError} If `store` is not a store.
 * @throws {RangeError} If `path` is not names joined by `/`, or `chunk` is outside of the
 * chunk grid, or a glob matches no node.
 *
 * @example
 * ```ts
 * import { FileSystemStore } from "@zarr-parts/zarr-parts";
 * import { inspect } from "@zarr-parts/zarr-parts/jobs";
 * import { assertEquals } from "@std/assert";
 *
 * const { nodes } = await inspect(new FileSystemStore("tests/fixtures/dem.zarr"), "", {
 *   chunk: [0, 1],
 * });
 * const [array] = nodes;
 * if (array?.kind !== "array") throw new Error("A group");
 * assertEquals(array.stored?.chunks, 12);
 * assertEquals(array.chunk?.index?.chunksPerShard, [4, 3]);
 * ```
 */
export async function inspect(
  store: Store,
  path = "",
  options: InspectOptions = {},
): Promise<Inspection> {
  const place = placeOf({ store, path });
  const unfinished = await findInPlace(place, options);
  try {
    const nodes = await inspectNodes(place, options);
    return {
      nodes,
      ...unfinished && { unfinished: inPlaceCommand(unfinished) },
    };
  } catch (error) {
    const isDamage = error instanceof MetadataError ||
      error instanceof DamageError;
    throw unfinished && isDamage ? inPlaceError(unfinished, error) : error;
  }
}

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
export interface InspectOptions extends NodeSelection, StoreOptions {
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
  /** The version of Zarr of the stored documents. Arrays of Zarr v2 are shown as those of Zarr v3. */
  readonly zarrFormat: 2 | 3;
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
  /** The contents of the part, as far as they follow from its place: data, the index of a shard, the checksum of a chunk. */
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

/**
 * A group.
 *
 * @example
 * ```ts
 * import type { InspectedGroup } from "@zarr-parts/zarr-parts/jobs";
 *
 * const group: InspectedGroup = { kind: "group", path: "images", zarrFormat: 3, attributes: {} };
 * ```
 */
export interface InspectedGroup {
  /** The kind of the node. */
  readonly kind: "group";
  /** The path below the inspected node; empty for that node. */
  readonly path: string;
  /** The version of Zarr of the stored documents. */
  readonly zarrFormat: 2 | 3;
  /** The user's own metadata. */
  readonly attributes: Readonly<Record<string, unknown>>;
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

async function inspectNodes(
  place: Place,
  options: InspectOptions,
): Promise<Inspection["nodes"]> {
  const { count = true } = options;
  const { nodes, failed } = await readNodes(place, options, {
    isLeftOut: isInvalidInside,
  });
  const isCounted = count && typeof place.store.list === "function";
  const stored = new Map(
    nodes.map(({ path, array }) =>
      [path, new ChunkList(array?.gridShape.length ?? 0)] as const
    ),
  );
  if (isCounted) {
    await listHierarchy(place, nodes, {
      chunk: (path, coordinates) => stored.get(path)!.push(coordinates),
      file() {},
    }, options);
  }
  const inspected: Inspection["nodes"][number][] = failed.map((
    { path, error },
  ) => ({ kind: "invalid", path, message: error.message }));
  for (const { path, document, v2Documents, array } of nodes) {
    const node = { path, zarrFormat: v2Documents.length > 0 ? 2 : 3 } as const;
    if (array !== undefined) {
      const { store } = place;
      const open: OpenArray = {
        ...{ store, array, isCounted, stored: stored.get(path)! },
        chunks: new ArrayChunks(store, pathIn(place, path), array),
        shards: shardsOf(array.chunk.shard),
      };
      const described = await describeArray(open, path === "", options);
      inspected.push({ kind: "array", ...node, ...described });
    } else {
      // Attributes may be null, which counts as none.
      const { attributes: given } = document as { attributes?: unknown };
      const attributes = isMembers(given) ? given : {};
      inspected.push({ kind: "group", ...node, attributes });
    }
  }
  return inspected.sort((a, b) => a.path < b.path ? -1 : 1);
}

/** An array that is described. */
interface OpenArray {
  readonly store: Store;
  readonly array: ParsedArray;
  readonly chunks: ArrayChunks;
  readonly shards: FoundShards | undefined;
  readonly isCounted: boolean;
  readonly stored: ChunkList;
}

async function describeArray(
  array: OpenArray,
  isOutermost: boolean,
  options: InspectOptions,
): Promise<Omit<InspectedArray, "kind" | "path" | "zarrFormat">> {
  const { chunks, stored, isCounted } = array;
  const { metadata, gridShape, chunkShape, innerChunkShape } = chunks;
  const { chunk, sizes } = options;
  const shown = chunk === null ? undefined : chunk ?? stored.first ??
    (gridShape.includes(0) ? undefined : gridShape.map(() => 0));
  let damage: string | undefined;
  // If the chunk is damaged, the other nodes of a group are described nevertheless.
  const described = shown &&
    await describeChunk(array, shown, options).catch((error) => {
      if (!(error instanceof DamageError) || isOutermost) throw error;
      damage = error.message;
      return undefined;
    });
  return {
    ...{ metadata, gridShape, chunkShape, innerChunkShape },
    parts: describeParts(array),
    stored: isCounted
      ? {
        chunks: stored.count,
        absent: countOfGrid(gridShape) - stored.count,
        bytes: sizes ? await sumOfSizes(array, options) : undefined,
      }
      : undefined,
    chunk: described,
    damage,
  };
}

/** Tells what each part holds, as far as the sizes of the parts before and after it tell. */
function describeParts(
  { array: { parts, chunk: { codecs } }, shards }: OpenArray,
): InspectedPart[] {
  const checksum = endsWithChecksum(codecs) ? CHECKSUM_SIZE : 0;
  const indexSize = shards ? shardIndexSize(shards.layout) : 0;
  const isAtStart = shards?.layout.indexLocation === "start";
  return parts.map((part, i) => {
    const { keySuffix, size } = part;
    const length = size ?? Infinity;
    // The distances of the part from the start and from the end of the chunk.
    const fromStart = sumOf(parts.slice(0, i));
    const fromEnd = sumOf(parts.slice(i + 1));
    const holds: ("data" | "index" | "checksum")[] = [];
    const indexFromEnd = shards?.checksumsSize ?? 0;
    const isIndexHere = indexSize > 0 &&
      (isAtStart ? fromStart < indexSize : fromEnd < indexFromEnd + indexSize &&
        fromEnd + length > indexFromEnd);
    const isChecksumHere = fromEnd < checksum;
    const rest = length -
      (isIndexHere ? indexSize : 0) - (isChecksumHere ? checksum : 0);
    if (rest > 0) holds.push("data");
    if (isIndexHere) holds.push("index");
    if (isChecksumHere) holds.push("checksum");
    return { keySuffix, size, holds };
  });
}

/** The size of parts together; infinite if one has no size. */
function sumOf(parts: readonly Part[]): number {
  return parts.reduce((sum, { size = Infinity }) => sum + size, 0);
}

/** The number of chunks whose lengths are asked for at once. */
const SIZES_AT_ONCE = 16;

async function sumOfSizes(
  { chunks, stored }: OpenArray,
  { signal }: StoreOptions,
): Promise<number> {
  let bytes = 0;
  await runConcurrently(stored, SIZES_AT_ONCE, async (coordinates, signal) => {
    const size = await chunks.size(coordinates, { signal });
    bytes += size ?? 0;
  }, signal);
  return bytes;
}

async function describeChunk(
  { store, array, chunks, shards }: OpenArray,
  coordinates: readonly number[],
  options: StoreOptions,
): Promise<InspectedChunk> {
  const key = chunks.key(coordinates);
  const size = await chunks.size(coordinates, options);
  if (size === undefined) {
    return { coordinates, key, size, parts: [], index: undefined };
  }
  const parts = await partsOfChunk(store, key, array.parts, size, options);
  const chunk: ChunkBytes = {
    size: size - (shards?.checksumsSize ?? 0),
    read: (range) => chunks.getRange(coordinates, range, options),
  };
  const innerChunks = shards && await readIndex(chunk, shards.layout, key);
  if (innerChunks === undefined) {
    return { coordinates, key, size, parts, index: undefined };
  }
  const { layout, inner } = shards!;
  const { chunksPerShard } = layout;
  const length = shardIndexSize(layout);
  const chunksInArray = chunksPerShard.map((count, i) => {
    const rest = array.shape[i]! - coordinates[i]! * array.chunk.shape[i]!;
    return Math.min(count, ceilDivide(rest, inner.shape[i]!));
  });
  const isInArray = (place: number) =>
    coordinatesInShard(place, layout)
      .every((coordinate, i) => coordinate < chunksInArray[i]!);
  const present = innerChunks
    .filter((entry, place) => entry !== undefined && isInArray(place)).length;
  const offset = layout.indexLocation === "start" ? 0 : chunk.size - length;
  return {
    ...{ coordinates, key, size, parts },
    index: {
      ...{ offset, length, chunksPerShard, chunksInArray },
      ...{ present, innerChunks },
    },
  };
}
