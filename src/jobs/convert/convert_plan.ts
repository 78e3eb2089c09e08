import { ArrayChunks, storageOf } from "../../arrays/mod.ts";
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
  isV2Document,
  type Members,
  parseZarrJson,
  withoutV2Nodes,
} from "../../metadata/mod.ts";
import {
  assertFirstBytes,
  assertShardIndex,
  decodeShardIndex,
  encodeShard,
  type ShardContainer,
  shardIndexSize,
} from "../../shards/mod.ts";
import {
  describeStore,
  type StoreKey,
  type StoreOptions,
} from "../../stores/mod.ts";
import { chunkLevel, type ShardLevel } from "../chunk_checks.ts";
import { ArrayKeys, ChunkList } from "../hierarchy/array_keys.ts";
import { listHierarchy } from "../hierarchy/list_hierarchy.ts";
import { documentKey, pathIn, type Place } from "../hierarchy/node_location.ts";
import { type Node, readNodes } from "../hierarchy/read_nodes.ts";
import { changeLayout, type LayoutOptions } from "./change_layout.ts";
import type { LeftOutNode } from "./convert_options.ts";
import { MARKER } from "./unfinished_marker.ts";

/** An array that is converted. */
export interface PlannedArray {
  /** The path below the outermost node, which has an empty path. */
  readonly path: string;
  readonly source: ArrayChunks;
  readonly target: ArrayChunks;
  /** The stored chunks of the source; `undefined` if it cannot list. */
  readonly stored: ChunkList | undefined;
  /** Lays out shards anew; `undefined` if chunks are copied as they are. */
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

/** The chunks and files of the source. */
export interface ListedSource {
  /** The keys of files that belong to no chunk, relative to the outermost node. */
  readonly files: readonly StoreKey[];
  /** The keys of all markers of unfinished conversions below the outermost node. */
  readonly markers: readonly StoreKey[];
  /** The keys of Zarr v2 metadata beside a `zarr.json`. */
  readonly v2Documents: readonly StoreKey[];
  /** The paths of Zarr v2 nodes below the outermost node. */
  readonly v2Nodes: readonly string[];
  /** Depends on all chunks and files; `undefined` if the source cannot list. */
  readonly fingerprint: number | undefined;
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
      contain: ofArray(node.path, () => {
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

/** Reads all nodes; those that cannot be used are an error, or left out. */
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
  const start = documentKey(source, "").length - "zarr.json".length;
  const found = await readNodes(source, options, (key, error) => {
    leaveOut(key.slice(start, -"zarr.json".length).slice(0, -1), error);
  });
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
 * Adds the stored chunks of the source to the lists of the arrays, and returns the other
 * files.
 *
 * @throws {Error} If a file would be a chunk of the target.
 */
export async function listSource(
  plan: ConvertPlan,
  options: StoreOptions,
): Promise<ListedSource> {
  const { source, target, arrays } = plan;
  const files: StoreKey[] = [];
  const markers: StoreKey[] = [];
  const v2Documents: StoreKey[] = [];
  const v2Nodes: string[] = [];
  const found = { files, markers, v2Documents, v2Nodes };
  if (typeof source.store.list !== "function") {
    return { ...found, fingerprint: undefined };
  }
  const isBeside = besideNodes(plan);
  const isLeftOut = belowLeftOut(plan);
  const lists = new Map(arrays.map(({ path, stored }) => [path, stored!]));
  const ofTarget = new Map(arrays.map(({ path, target: { metadata } }) => [
    path,
    new ArrayKeys(metadata, rootIn(target, path)),
  ]));
  const fingerprint = await listHierarchy(
    source,
    plan.nodes,
    keysOf(source, arrays),
    {
      chunk: (path, coordinates) => lists.get(path)!.push(coordinates),
      file(key, path) {
        const relative = key.slice(source.root.length) as StoreKey;
        if (key.endsWith(MARKER)) markers.push(key);
        if (relative === MARKER || isLeftOut(key)) return;
        if (isV2Document(key)) {
          if (isBeside(key)) return void v2Documents.push(key);
          if (/\/\.z(?:array|group)$/.test(key)) {
            v2Nodes.push(relative.slice(1, relative.lastIndexOf("/")));
          }
        }
        const targetKey = target.root + relative as StoreKey;
        if (path !== undefined && ofTarget.get(path)!.isTaken(targetKey)) {
          throw new Error(
            `The file ${
              describe(key)
            } is no chunk of the source, and would be one of the target, ${
              describe(targetKey)
            }; remove it, or choose other keys`,
          );
        }
        files.push(relative);
      },
    },
    options,
  );
  return { ...found, fingerprint };
}

/** Returns a function that tells whether the innermost node around a key is left out. */
function belowLeftOut(
  { source, nodes, leftOut }: ConvertPlan,
): (key: string) => boolean {
  const roots = new Set(nodes.map(({ path }) => rootIn(source, path)));
  const left = new Set(leftOut.map(({ path }) => rootIn(source, path)));
  return (key) => {
    let folder = left.size === 0 ? "" : key;
    while (folder !== "") {
      folder = folder.slice(0, folder.lastIndexOf("/"));
      if (left.has(folder)) return true;
      if (roots.has(folder)) return false;
    }
    return false;
  };
}

/** Returns a function that tells whether a document of Zarr v2 lies beside that of a node. */
export function besideNodes(
  { source, nodes }: ConvertPlan,
): (key: string) => boolean {
  const roots = new Set(nodes.map(({ path }) => rootIn(source, path)));
  return (key) => roots.has(key.slice(0, key.lastIndexOf("/")));
}

/** Leaves the nodes of the source out of consolidated metadata of Zarr v2, at a key of the source. */
export function withoutNodes(
  bytes: Uint8Array,
  key: StoreKey,
  plan: ConvertPlan,
): Uint8Array {
  const isBeside = besideNodes(plan);
  const folder = key.slice(0, key.lastIndexOf("/") + 1);
  try {
    return withoutV2Nodes(bytes, (path) => isBeside(`${folder}${path}`));
  } catch (error) {
    if (error instanceof MetadataError) return bytes; // It is no JSON.
    throw error;
  }
}

/** Lists the source once more, and returns its fingerprint. */
export async function fingerprintOf(
  { source, nodes, arrays }: ConvertPlan,
  options: StoreOptions,
): Promise<number> {
  const nothing = { chunk() {}, file() {} };
  const keys = keysOf(source, arrays);
  return await listHierarchy(source, nodes, keys, nothing, options);
}

/** The keys of the arrays of the source, by path. */
export function keysOf(
  place: Place,
  arrays: readonly PlannedArray[],
): Map<string, ArrayKeys> {
  return new Map(arrays.map(({ path, source: { metadata } }) => [
    path,
    new ArrayKeys(metadata, rootIn(place, path)),
  ]));
}

function rootIn(place: Place, path: string): string {
  return documentKey(place, path).slice(0, -"/zarr.json".length);
}

/** Gives a document, and those in its consolidated metadata, the new layout. */
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
      // The layout is not to blame for the source.
      inSource(() => storageOf(node));
    } catch (error) {
      const isLeftOut = leavesOut && error instanceof MetadataError;
      if (!isLeftOut) throw error;
      if (leavesOut === "remove") removed.add(below);
      return node;
    }
    const metadata = node as unknown as ArrayMetadata;
    const whole = [path, below].filter((name) => name !== "").join("/");
    const changed = ofArray(whole, () => changeLayout(metadata, whole, layout));
    changes.set(below, [node, changed as unknown as Members]);
    return node;
  });
  return inSource(() =>
    changeZarrJson(bytes, (exact) =>
      changeNodes(exact, (node, below) => {
        if (removed.has(below)) return undefined;
        const change = changes.get(below);
        return change ? takeOver(node as Members, ...change) : node;
      }))
  );
}

/** Names the array in errors about options. */
function ofArray<T>(path: string, task: () => T): T {
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

/** Returns the exact document with the members that were changed. */
function takeOver(
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

/** Lays out a shard anew, given its bytes, its coordinates and its key in messages. */
export type ContainShard = (
  shard: Uint8Array,
  coordinates: readonly number[],
  key: string,
) => Uint8Array;

/**
 * Returns a function that puts the bytes of a file format around the inner chunks of a
 * shard, which stay as they are encoded.
 *
 * @throws {RangeError} If the array has no shards whose inner chunks can be found, or
 * their index is at the start.
 */
export function containShards(
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
    for (let left = shards.after; left > 0; left -= CHECKSUM_SIZE) {
      contained = appendChecksum(contained);
    }
    return contained;
  };
}

/** The inner chunks of a shard, after verifying its checksums and its index. */
function innerChunks(
  bytes: Uint8Array,
  { layout, after }: ShardLevel,
  key: string,
): (Uint8Array | undefined)[] {
  const size = shardIndexSize(layout);
  if (bytes.length < size + after) {
    throw new DamageError(
      `Shard ${
        describe(key)
      } is ${bytes.length} bytes long, where its index and checksums take ${
        size + after
      }`,
      { key },
    );
  }
  let shard = bytes;
  for (let left = after; left > 0; left -= CHECKSUM_SIZE) {
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
