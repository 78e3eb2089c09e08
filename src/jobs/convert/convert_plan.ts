import { ArrayChunks, type ParsedArray } from "../../arrays/mod.ts";
import {
  appendChecksum,
  CHECKSUM_SIZE,
  verifyChecksum,
} from "../../checksum/mod.ts";
import {
  DamageError,
  describe,
  MetadataError,
  sentence,
} from "../../errors/mod.ts";
import {
  type ArrayMetadata,
  changeNodes,
  changeZarrJson,
  type Members,
  parseExactZarrJson,
} from "../../metadata/mod.ts";
import {
  assertFirstBytes,
  decodeShard,
  encodeShard,
  type ShardContainer,
} from "../../shards/mod.ts";
import { describeStore } from "../../stores/mod.ts";
import { v2View } from "../../views/mod.ts";
import {
  documentKey,
  isIn,
  isInvalidInside,
  type Node,
  pathIn,
  type Place,
  readNodes,
  type SelectedNodes,
  withoutNamedNodes,
} from "../../hierarchy/mod.ts";
import { RecodedArray } from "../recode/recode_array.ts";
import { isSameEncoding } from "../recode/recoding.ts";
import { shardsOf } from "../chunk_checks.ts";
import { type ArrayPair, StoredChunks } from "../stored_chunks.ts";
import { changeLayout, LayoutError } from "./change_layout.ts";
import type {
  ConvertOptions,
  LeftOutNode,
  OtherArray,
} from "./convert_options.ts";

/** Puts a container around a shard, given its bytes, its coordinates, and its key for messages. */
type ContainShard = (
  shard: Uint8Array,
  coordinates: readonly number[],
  key: string,
) => Uint8Array;

/** An array that is converted. */
export interface PlannedArray extends ArrayPair {
  /** How chunks are decoded and encoded again, or divided into other shards; `undefined` if they are copied. */
  readonly recoded: RecodedArray | undefined;
  /** Puts a container around copied shards; `undefined` if they are copied as they are. */
  readonly contain: ContainShard | undefined;
}

/** The documents of a conversion, and its arrays. */
export interface ConvertPlan {
  readonly source: Place;
  readonly target: Place;
  readonly nodes: readonly Node[];
  /** The nodes that are left out. */
  readonly leftOut: readonly LeftOutNode[];
  /** The nodes of a group that the options choose. */
  readonly selected: SelectedNodes;
  /** The arrays that cannot get the layout, and keep the one that they have. */
  readonly others: readonly OtherArray[];
  /** The documents of the target, by path: those of inner nodes first. */
  readonly documents: ReadonlyMap<string, Uint8Array>;
  readonly arrays: readonly PlannedArray[];
}

/**
 * Reads the documents of the source, and composes those of the target. Writes nothing. Nodes
 * of Zarr v2 are passed over if source and target are the same place.
 *
 * @throws {MetadataError} If a document of the source or of the target is not valid.
 * @throws {LayoutError | RangeError} If an array cannot get the layout.
 * @throws {RangeError} If a glob matches no node.
 */
export async function planConversion(
  source: Place,
  target: Place,
  options: ConvertOptions,
): Promise<ConvertPlan> {
  const { nodes, ...read } = await readUsable(source, target, options);
  const arrays: PlannedArray[] = [];
  const misfits: Misfit[] = [];
  for (const { path, array } of nodes) {
    if (array === undefined) continue;
    try {
      arrays.push(await planArray(source, target, path, array, options));
    } catch (error) {
      const isMisfit = error instanceof LayoutError ||
        error instanceof RangeError;
      if (!isMisfit) throw error;
      misfits.push({ path, error });
      arrays.push(await planArray(source, target, path, array, {}));
    }
  }
  const isMistaken = misfits.length > 0 &&
    (!options.keepGoing || misfits.length === arrays.length);
  if (isMistaken) {
    throw misfitError(misfits, arrays.length, source === target);
  }
  if (typeof options.metadata === "object" && arrays.length !== 1) {
    throw new TypeError(
      'Expected the option "metadata" to be a function for a group, whose arrays have metadata of their own, found an object',
    );
  }
  const plan = { source, target, nodes, arrays, ...read };
  return {
    ...plan,
    documents: documentsOf(plan),
    others: misfits.map(({ path, error }) => ({
      path,
      message: reasonOf(error),
    })),
  };
}

/**
 * Gives an array the new layout.
 *
 * @throws {LayoutError | RangeError} If the array cannot get the layout.
 */
async function planArray(
  source: Place,
  target: Place,
  path: string,
  from: ParsedArray,
  options: ConvertOptions,
): Promise<PlannedArray> {
  try {
    const to = changeLayout(from, path, options);
    const isChosen = options.where?.(from.metadata, path) !== false;
    const containerOf = isChosen
      ? await options.container?.(to.metadata, path, {
        // Attributes of groups of Zarr v2 tell the place of an array, too.
        store: v2View(source.store),
        path: pathIn(source, path),
      })
      : undefined;
    const canList = typeof source.store.list === "function";
    const pair: ArrayPair = {
      path,
      source: new ArrayChunks(source.store, pathIn(source, path), from),
      target: new ArrayChunks(target.store, pathIn(target, path), to),
      containerOf,
      stored: new StoredChunks(path, from.gridShape, canList),
    };
    const contain = containerOf && containShards(to, containerOf);
    const isRecoded = options.recode !== undefined &&
      !isSameEncoding(from, to);
    const recoded = isRecoded
      ? await RecodedArray.create(pair, source, options)
      : undefined;
    return { ...pair, recoded, contain: recoded ? undefined : contain };
  } catch (error) {
    throw nameArray(error, path);
  }
}

/**
 * Returns a function that puts the bytes of a file format around the inner chunks of a
 * shard. The inner chunks stay as they are encoded.
 *
 * @throws {RangeError} If the array has no shards whose inner chunks can be found, or
 * their index is at the start.
 */
function containShards(
  { chunk }: ParsedArray,
  containerOf: (shard: readonly number[]) => ShardContainer,
): ContainShard {
  const shards = shardsOf(chunk.shard);
  if (shards === undefined) {
    throw new RangeError(
      "Expected shards to put a container around their inner chunks, found an array without shards, or with shards that are encoded again",
    );
  }
  const { layout, checksumsSize } = shards;
  assertFirstBytes(layout, { container: containerOf });
  return (bytes, coordinates, key) => {
    let shard = bytes;
    for (let left = checksumsSize; left > 0; left -= CHECKSUM_SIZE) {
      if (shard.length < CHECKSUM_SIZE) {
        throw new DamageError(
          sentence`Shard ${key} is ${bytes.length} bytes long, where its checksums take ${checksumsSize}`,
          { key },
        );
      }
      shard = verifyChecksum(shard, () => sentence`Chunk ${key}`, key);
    }
    let contained = encodeShard(decodeShard(shard, layout, key), layout, {
      container: containerOf(coordinates),
    });
    for (let left = checksumsSize; left > 0; left -= CHECKSUM_SIZE) {
      contained = appendChecksum(contained);
    }
    return contained;
  };
}

/** An array that cannot get the layout. */
interface Misfit {
  readonly path: string;
  readonly error: LayoutError | RangeError;
}

/** The number of nodes that a message names. */
const MOST_NAMED = 3;

/** The first nodes, and the number of the others. */
function namesOf(nodes: readonly { path: string }[]): string {
  const named = nodes.slice(0, MOST_NAMED)
    .map(({ path }) => describe(`/${path}`)).join(", ");
  const rest = nodes.length - MOST_NAMED;
  return rest > 0 ? `${named} and ${rest} more` : named;
}

/** An error about arrays that cannot get the layout: the first ones with their number, and why the first one cannot. */
function misfitError(
  misfits: readonly Misfit[],
  count: number,
  isInPlace: boolean,
): Error {
  const [{ error }] = misfits as [Misfit];
  if (count === 1) return error;
  const areAll = misfits.length === count;
  const which = areAll ? "any of the" : `${misfits.length} of`;
  const problem = `Cannot give ${which} ${count} arrays this layout: ${
    namesOf(misfits)
  }: ${reasonOf(error)}`;
  const done = isInPlace ? "leaves" : "copies";
  const text = areAll
    ? problem
    : `${problem}; the option "keepGoing" ${done} such arrays as they are`;
  return error instanceof LayoutError
    ? new LayoutError(text, error.path, { cause: error })
    : new RangeError(text, { cause: error });
}

/** Why an array cannot get the layout, without the path of the array. */
function reasonOf(error: LayoutError | RangeError): string {
  const { cause } = error;
  if (cause instanceof MetadataError) return cause.problem;
  return cause instanceof Error ? cause.message : error.message;
}

/**
 * Reads all nodes that are chosen. With `keepGoing`, nodes that cannot be opened are left out; by
 * default, such a node is an error.
 */
async function readUsable(
  source: Place,
  target: Place,
  options: ConvertOptions,
): Promise<Pick<ConvertPlan, "nodes" | "leftOut" | "selected">> {
  const { nodes, failed, selected } = await readNodes(source, options, {
    isLeftOut: isInvalidInside,
    withoutV2: source === target,
  });
  const [first, ...others] = failed;
  if (first !== undefined && !options.keepGoing) {
    const { problem, path } = first.error as MetadataError;
    const more = others.length === 0
      ? ""
      : `; nor are the documents of ${namesOf(others)} valid`;
    throw new MetadataError(
      `${problem}${more}; the option "keepGoing" leaves the node out`,
      path,
      {
        document: documentKey(source, first.path),
        store: describeStore(source.store),
        cause: first.error,
      },
    );
  }
  const leftOut = failed.map(({ path, error: { message } }) => ({
    path,
    message,
  }));
  return { nodes, leftOut, selected };
}

/**
 * The documents of the target, those of inner nodes first. Consolidated metadata gets the
 * documents that its arrays have there. In a copy, groups no longer name nodes that are left out.
 */
function documentsOf(
  { source, target, nodes, arrays, leftOut, selected }: Omit<
    ConvertPlan,
    "documents" | "others"
  >,
): Map<string, Uint8Array> {
  const isCopy = source !== target;
  const changes = new Map(arrays.map(({ path, source, target }) =>
    [
      path,
      [source.metadata, target.metadata],
    ] as const
  ));
  const paths = new Set(nodes.map(({ path }) => path));
  const left = new Set(leftOut.map(({ path }) => path));
  const isGone = (path: string) =>
    isIn(selected.excluded, path) || left.has(path);
  const documents = new Map<string, Uint8Array>();
  for (const { path, bytes } of nodes.toReversed()) {
    const changed = changeZarrJson(
      bytes,
      (exact) =>
        changeNodes(exact, (node, below) => {
          const whole = [path, below].filter((name) => name !== "").join("/");
          if (isCopy && !paths.has(whole)) return undefined;
          const [before, after] = changes.get(whole) ?? [];
          if (before !== after) {
            const own = documents.get(whole);
            return own === undefined
              ? withChanges(node as Members, before!, after!)
              : parseExactZarrJson(own);
          }
          return isCopy ? withoutNamedNodes(node, whole, isGone) : node;
        }),
    );
    documents.set(path, changed);
  }
  return documents;
}

function nameArray(error: unknown, path: string): unknown {
  if (error instanceof MetadataError) return error;
  for (const ErrorClass of [RangeError, TypeError]) {
    if (!(error instanceof ErrorClass)) continue;
    const array = describe(`/${path}`);
    return new ErrorClass(`${error.message} (array ${array})`, {
      cause: error,
    });
  }
  return error;
}

/**
 * Replaces the changed members of a document that holds exact numbers.
 *
 * @param before The metadata with inexact numbers before it was changed.
 * @param after The same metadata after it was changed.
 */
function withChanges(
  exact: Members,
  before: ArrayMetadata,
  after: ArrayMetadata,
): unknown {
  const earlier = before as unknown as Members;
  return Object.fromEntries(
    Object.entries(after).map(([name, value]) => [
      name,
      Object.is(value, earlier[name]) ? exact[name] : value,
    ]),
  );
}
