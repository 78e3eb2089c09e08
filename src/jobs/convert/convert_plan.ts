import { ArrayChunks, ChunkList, storageOf } from "../../arrays/mod.ts";
import {
  appendChecksum,
  CHECKSUM_SIZE,
  verifyChecksum,
} from "../../checksum/mod.ts";
import {
  DamageError,
  describe,
  inDocument,
  MetadataError,
} from "../../errors/mod.ts";
import {
  type ArrayMetadata,
  changeNodes,
  changeZarrJson,
  isArrayDocument,
  type Members,
  parseZarrJson,
} from "../../metadata/mod.ts";
import {
  assertFirstBytes,
  assertShardIndex,
  decodeShardIndex,
  encodeShard,
  type ShardContainer,
  shardIndexSize,
} from "../../shards/mod.ts";
import { describeStore, type StoreOptions } from "../../stores/mod.ts";
import { chunkLevel, type ShardLevel } from "../chunk_checks.ts";
import { documentKey, pathIn, type Place } from "../hierarchy/node_location.ts";
import { type Node, readNodes } from "../hierarchy/read_nodes.ts";
import { isSameEncoding } from "../recode/recoding.ts";
import { changeLayout, type LayoutOptions } from "./change_layout.ts";
import type { LeftOutNode } from "./convert_options.ts";

/** An array that is converted. */
export interface PlannedArray {
  /** The path below the outermost node, which has an empty path. */
  readonly path: string;
  readonly source: ArrayChunks;
  readonly target: ArrayChunks;
  /** The stored chunks of the source; `undefined` if it cannot list. */
  readonly stored: ChunkList | undefined;
  /** Whether chunks are decoded and encoded again, or divided into other shards. */
  readonly isRecoded: boolean;
  /** Puts a container around shards; `undefined` if chunks are copied as they are. */
  readonly contain: ContainShard | undefined;
}

/** The documents of a conversion, and its arrays. */
export interface ConvertPlan {
  readonly source: Place;
  readonly target: Place;
  readonly nodes: readonly Node[];
  /** The nodes that are left out. */
  readonly leftOut: readonly LeftOutNode[];
  /** The documents of the target, by path: those of inner nodes first. */
  readonly documents: ReadonlyMap<string, Uint8Array>;
  readonly arrays: readonly PlannedArray[];
}

/**
 * Reads the documents of the source, and composes those of the target. Writes nothing.
 *
 * @param options `keepGoing`: whether nodes below the outermost one are left out whose
 * documents are not valid.
 * @throws {MetadataError} If a document of the source or of the target is not valid.
 */
export async function planConversion(
  source: Place,
  target: Place,
  layout: LayoutOptions,
  { keepGoing = false, ...options }: StoreOptions & {
    keepGoing?: boolean | undefined;
  },
): Promise<ConvertPlan> {
  const { nodes, leftOut } = await readUsable(source, keepGoing, options);
  const documents = new Map<string, Uint8Array>();
  const arrays: PlannedArray[] = [];
  const canList = typeof source.store.list === "function";
  const isSamePlace = source === target;
  for (const node of nodes.toReversed()) {
    const bytes = convertedDocument(source, node, layout, {
      leavesOut: keepGoing && (isSamePlace ? "keep" : "remove"),
    });
    documents.set(node.path, bytes);
    if (!isArrayDocument(node.document)) continue;
    const from = chunksAt(source, node.path, node.document);
    const to = chunksAt(target, node.path, parseZarrJson(bytes));
    arrays.unshift({
      path: node.path,
      source: from,
      target: to,
      isRecoded: layout.recode !== undefined &&
        !isSameEncoding(from.metadata, to.metadata),
      contain: forArray(node.path, () => {
        if (layout.where?.(from.metadata, node.path) === false) return;
        const container = layout.container?.(to.metadata, node.path);
        return container && containShards(to, container);
      }),
      stored: canList ? new ChunkList(from.gridShape.length) : undefined,
    });
  }
  if (typeof layout.metadata === "object" && arrays.length !== 1) {
    throw new TypeError(
      'Expected the option "metadata" to be a function for a group, whose arrays have metadata of their own, found an object',
    );
  }
  return { source, target, nodes, leftOut, documents, arrays };
}

/**
 * Reads all nodes.
 *
 * @param keepGoing Whether nodes that cannot be opened are left out. By default, such a node
 * is an error.
 */
async function readUsable(
  source: Place,
  keepGoing: boolean,
  options: StoreOptions,
): Promise<{ nodes: Node[]; leftOut: LeftOutNode[] }> {
  const leftOut: LeftOutNode[] = [];
  const leaveOut = (path: string, error: MetadataError): false => {
    if (path === "") throw error;
    if (!keepGoing) {
      throw new MetadataError(
        `${error.problem}; the option "keepGoing" leaves the node out`,
        error.path,
        {
          document: documentKey(source, path),
          store: describeStore(source.store),
          cause: error,
        },
      );
    }
    leftOut.push({ path, message: error.message });
    return false;
  };
  const found = await readNodes(source, options, leaveOut);
  const nodes = found.filter(({ path, document }) => {
    if (!isArrayDocument(document)) return true;
    try {
      chunksAt(source, path, document);
      return true;
    } catch (error) {
      if (!(error instanceof MetadataError)) throw error;
      return leaveOut(path, error);
    }
  });
  return { nodes, leftOut };
}

function chunksAt(place: Place, path: string, document: unknown): ArrayChunks {
  return inDocument(
    documentKey(place, path),
    describeStore(place.store),
    () => new ArrayChunks(place.store, pathIn(place, path), document),
  );
}

/**
 * Gives a document, and those in its consolidated metadata, the new layout.
 *
 * @param settings `leavesOut`: what happens to documents in the consolidated metadata that
 * are not valid; `false` if such a document is an error.
 */
function convertedDocument(
  source: Place,
  { path, bytes, document }: Node,
  layout: LayoutOptions,
  { leavesOut }: { leavesOut: "keep" | "remove" | false },
): Uint8Array {
  const inSource = <T>(task: () => T) =>
    inDocument(documentKey(source, path), describeStore(source.store), task);
  const removed = new Set<string>();
  const changes = new Map<string, [before: Members, after: Members]>();
  changeNodes(document, (node, below) => {
    if (!isArrayDocument(node)) return node;
    try {
      // Damage of the source must not be reported as an error of the layout.
      inSource(() => storageOf(node));
    } catch (error) {
      const isLeftOut = leavesOut && error instanceof MetadataError;
      if (!isLeftOut) throw error;
      if (leavesOut === "remove") removed.add(below);
      return node;
    }
    const metadata = node as unknown as ArrayMetadata;
    const whole = [path, below].filter((name) => name !== "").join("/");
    const changed = forArray(
      whole,
      () => changeLayout(metadata, whole, layout),
    );
    changes.set(below, [node, changed as unknown as Members]);
    return node;
  });
  return inSource(() =>
    changeZarrJson(bytes, (exact) =>
      changeNodes(exact, (node, below) => {
        if (removed.has(below)) return undefined;
        const change = changes.get(below);
        return change ? withChanges(node as Members, ...change) : node;
      }))
  );
}

/** Runs a task, and adds the name of the array to errors about options. */
function forArray<T>(path: string, task: () => T): T {
  try {
    return task();
  } catch (error) {
    for (const ErrorClass of [RangeError, TypeError]) {
      if (!(error instanceof ErrorClass)) continue;
      const array = `array ${describe(`/${path}`)}`;
      throw new ErrorClass(`${error.message} (${array})`, { cause: error });
    }
    throw error;
  }
}

/**
 * Replaces the changed members of a document that holds exact numbers.
 *
 * @param before The document with inexact numbers before it was changed.
 * @param after The same document after it was changed.
 */
function withChanges(
  exact: Readonly<Record<string, unknown>>,
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): unknown {
  if (after === before) return exact;
  return Object.fromEntries(
    Object.entries(after).map(([name, value]) => [
      name,
      Object.is(value, before[name]) ? exact[name] : value,
    ]),
  );
}

/** Puts a container around a shard, given its bytes, its coordinates, and its key for messages. */
type ContainShard = (
  shard: Uint8Array,
  coordinates: readonly number[],
  key: string,
) => Uint8Array;

/**
 * Returns a function that puts the bytes of a file format around the inner chunks of a
 * shard. The inner chunks stay as they are encoded.
 *
 * @throws {RangeError} If the array has no shards whose inner chunks can be found, or
 * their index is at the start.
 */
function containShards(
  { metadata, chunkShape }: ArrayChunks,
  containerOf: (shard: readonly number[]) => ShardContainer,
): ContainShard {
  const { shards } = chunkLevel(metadata.codecs, chunkShape, "");
  if (shards === undefined) {
    throw new RangeError(
      "Expected shards to put a container around their inner chunks, found an array without shards, or with shards that are encoded again",
    );
  }
  assertFirstBytes(shards.layout, { container: containerOf });
  return (bytes, coordinates, key) => {
    const inner = innerChunks(bytes, shards, key);
    const container = containerOf(coordinates);
    const shard = encodeShard(inner, shards.layout, { container });
    let contained = shard;
    for (let left = shards.checksumsSize; left > 0; left -= CHECKSUM_SIZE) {
      contained = appendChecksum(contained);
    }
    return contained;
  };
}

/** The inner chunks of a shard, after verifying its checksums and its index. */
function innerChunks(
  bytes: Uint8Array,
  { layout, checksumsSize }: ShardLevel,
  key: string,
): (Uint8Array | undefined)[] {
  const size = shardIndexSize(layout);
  if (bytes.length < size + checksumsSize) {
    throw new DamageError(
      `Shard ${
        describe(key)
      } is ${bytes.length} bytes long, where its index and checksums take ${
        size + checksumsSize
      }`,
      { key },
    );
  }
  let shard = bytes;
  for (let left = checksumsSize; left > 0; left -= CHECKSUM_SIZE) {
    shard = verifyChecksum(shard, `Chunk ${describe(key)}`, key);
  }
  const start = layout.indexLocation === "start" ? 0 : shard.length - size;
  const stored = shard.subarray(start, start + size);
  const index = decodeShardIndex(stored, layout, key);
  assertShardIndex(index, layout, shard.length, key);
  return index.map((entry) =>
    entry && shard.subarray(entry.offset, entry.offset + entry.length)
  );
}
