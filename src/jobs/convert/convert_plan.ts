import { ArrayChunks, parseArray, type ParsedArray } from "../../arrays/mod.ts";
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
  changeNodes,
  changeZarrJson,
  isArrayDocument,
  type Members,
} from "../../metadata/mod.ts";
import {
  assertFirstBytes,
  decodeShard,
  encodeShard,
  type ShardContainer,
} from "../../shards/mod.ts";
import { describeStore, type StoreOptions } from "../../stores/mod.ts";
import { v2View } from "../../views/mod.ts";
import {
  ALL_NODES,
  documentKey,
  isIn,
  type Node,
  nodeChooser,
  type NodeSelection,
  pathIn,
  type Place,
  readNodes,
  type SelectedNodes,
  withoutNamedNodes,
} from "../../hierarchy/mod.ts";
import { RecodedArray, type RecodeSettings } from "../recode/recode_array.ts";
import { isSameEncoding } from "../recode/recoding.ts";
import { chunkLevel } from "../chunk_checks.ts";
import { type ArrayPair, StoredChunks } from "../stored_chunks.ts";
import {
  changeLayout,
  LayoutError,
  type LayoutOptions,
} from "./change_layout.ts";
import type { LeftOutNode, OtherArray } from "./convert_options.ts";

/** Puts a container around a shard, given its bytes, its coordinates, and its key for messages. */
export type ContainShard = (
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

/** What happens to nodes that are not converted like the others. */
interface PlanSettings extends NodeSelection, StoreOptions {
  /**
   * Whether nodes below the outermost one are left out whose documents are not valid, and
   * arrays that cannot get the layout keep the one that they have.
   */
  readonly keepGoing?: boolean | undefined;
  /** How arrays are recoded, if the layout says so. */
  readonly recoding?: RecodeSettings | undefined;
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
  layout: LayoutOptions,
  settings: PlanSettings,
): Promise<ConvertPlan> {
  const isSamePlace = source === target;
  const { nodes, parsed, leftOut, selected } = await readUsable(source, {
    ...settings,
    withoutV2: isSamePlace,
  });
  const left = new Set(leftOut.map(({ path }) => path));
  const changes: DocumentSettings = {
    recoding: settings.recoding,
    leavesOut: settings.keepGoing ? isSamePlace ? "keep" : "remove" : false,
    isGone: (path) =>
      isIn(selected.excluded, path) || !isSamePlace && left.has(path),
    keepsGone: isSamePlace,
    parsed,
  };
  const documents = new Map<string, Uint8Array>();
  const arrays: PlannedArray[] = [];
  const misfits: Misfit[] = [];
  for (const node of nodes) {
    if (!isArrayDocument(node.document)) continue;
    let planned: ArrayWithDocument;
    try {
      planned = await planArray(source, target, node, layout, changes);
    } catch (error) {
      const isMisfit = error instanceof LayoutError ||
        error instanceof RangeError;
      if (!isMisfit) throw error;
      misfits.push({ path: node.path, error });
      planned = await planArray(source, target, node, KEPT, changes);
    }
    arrays.push(planned.array);
    documents.set(node.path, planned.document);
  }
  const isMistaken = misfits.length > 0 &&
    (!settings.keepGoing || misfits.length === arrays.length);
  if (isMistaken) throw misfitError(misfits, arrays.length, isSamePlace);
  const kept = new Set(misfits.map(({ path }) => path));
  const layoutOfGroups: LayoutOptions = {
    ...layout,
    where: (metadata, path) =>
      !kept.has(path) && layout.where?.(metadata, path) !== false,
  };
  // Documents of inner nodes come first.
  const ordered = new Map<string, Uint8Array>();
  for (const node of nodes.toReversed()) {
    ordered.set(
      node.path,
      documents.get(node.path) ??
        convertedDocument(source, node, layoutOfGroups, changes).bytes,
    );
  }
  if (typeof layout.metadata === "object" && arrays.length !== 1) {
    throw new TypeError(
      'Expected the option "metadata" to be a function for a group, whose arrays have metadata of their own, found an object',
    );
  }
  return {
    ...{ source, target, nodes, leftOut, selected, arrays },
    documents: ordered,
    others: misfits.map(({ path, error }) => ({
      path,
      message: reasonOf(error),
    })),
  };
}

/** The layout of arrays that keep the one that they have. */
const KEPT: LayoutOptions = { where: () => false };

/** An array with the document of the target. */
interface ArrayWithDocument {
  readonly array: PlannedArray;
  readonly document: Uint8Array;
}

/**
 * Gives an array the new layout.
 *
 * @throws {LayoutError | RangeError} If the array cannot get the layout.
 */
async function planArray(
  source: Place,
  target: Place,
  node: Node,
  layout: LayoutOptions,
  settings: DocumentSettings,
): Promise<ArrayWithDocument> {
  const { bytes, changes } = convertedDocument(source, node, layout, settings);
  const [from, to] = changes.get("")!;
  const canList = typeof source.store.list === "function";
  const isRecoded = layout.recode !== undefined &&
    !isSameEncoding(from.metadata, to.metadata);
  const containerOf = await containerFor(source, from, to, node.path, layout);
  const contain = containerOf &&
    forArray(node.path, () => containShards(to, containerOf));
  const pair: ArrayPair = {
    path: node.path,
    source: chunksAt(source, node.path, from),
    target: chunksAt(target, node.path, to),
    containerOf,
    stored: new StoredChunks(node.path, from.gridShape, canList),
  };
  const recoded = isRecoded
    ? await RecodedArray.create(pair, source, settings.recoding!)
    : undefined;
  const array = { ...pair, recoded, contain: recoded ? undefined : contain };
  return { array, document: bytes };
}

/** Returns the containers of the shards of an array, if they get some. */
async function containerFor(
  source: Place,
  from: ParsedArray,
  to: ParsedArray,
  path: string,
  { where, container }: LayoutOptions,
): Promise<PlannedArray["containerOf"]> {
  if (where?.(from.metadata, path) === false) return undefined;
  try {
    return await container?.(to.metadata, path, {
      // Attributes of groups of Zarr v2 tell the place of an array, too.
      store: v2View(source.store),
      path: pathIn(source, path),
    });
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
  const { shards } = chunkLevel(chunk, "");
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
          `Shard ${
            describe(key)
          } is ${bytes.length} bytes long, where its checksums take ${checksumsSize}`,
          { key },
        );
      }
      shard = verifyChecksum(shard, () => `Chunk ${describe(key)}`, key);
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
  const which = misfits.length === count
    ? "any of the"
    : `${misfits.length} of`;
  const one = error instanceof LayoutError ? error.problem : error.message;
  const problem = misfits.length === 1
    ? one
    : `Cannot give ${which} ${count} arrays this layout: ${namesOf(misfits)}: ${
      reasonOf(error)
    }`;
  const advice = `; the option "keepGoing" ${
    isInPlace ? "leaves" : "copies"
  } such arrays as they are`;
  const text = misfits.length === count ? problem : problem + advice;
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
 * Reads all nodes that are chosen.
 *
 * @param settings `keepGoing`: whether nodes that cannot be opened are left out. By default,
 * such a node is an error.
 */
async function readUsable(
  source: Place,
  { keepGoing = false, only, exclude, withoutV2, signal }:
    & PlanSettings
    & { withoutV2: boolean },
): Promise<
  & Pick<ConvertPlan, "nodes" | "leftOut" | "selected">
  & Pick<DocumentSettings, "parsed">
> {
  const parsed = new Map<string, ParsedArray>();
  const invalid: { path: string; error: MetadataError }[] = [];
  const leaveOut = (path: string, error: MetadataError): false => {
    if (path === "") throw error;
    invalid.push({ path, error });
    return false;
  };
  let selected = ALL_NODES;
  const found = await readNodes(source, signal ? { signal } : {}, {
    onInvalid: leaveOut,
    withoutV2,
    choose: nodeChooser({ only, exclude }, (chosen) => selected = chosen),
  });
  const nodes = found.filter(({ path, document }) => {
    if (!isArrayDocument(document)) return true;
    try {
      const array = inDocument(
        documentKey(source, path),
        describeStore(source.store),
        () => parseArray(document),
      );
      parsed.set(path, array);
      return true;
    } catch (error) {
      if (!(error instanceof MetadataError)) throw error;
      return leaveOut(path, error);
    }
  });
  const [first, ...others] = invalid;
  if (first !== undefined && !keepGoing) {
    const more = others.length === 0
      ? ""
      : `; nor are the documents of ${namesOf(others)} valid`;
    throw new MetadataError(
      `${first.error.problem}${more}; the option "keepGoing" leaves the node out`,
      first.error.path,
      {
        document: documentKey(source, first.path),
        store: describeStore(source.store),
        cause: first.error,
      },
    );
  }
  const leftOut = invalid.map(({ path, error: { message } }) => ({
    path,
    message,
  }));
  return { nodes, parsed, leftOut, selected };
}

function chunksAt(place: Place, path: string, array: ParsedArray): ArrayChunks {
  return new ArrayChunks(place.store, pathIn(place, path), array);
}

/** What happens to documents of nodes that are not converted. */
interface DocumentSettings extends Pick<PlanSettings, "recoding"> {
  /**
   * What happens to documents in the consolidated metadata that are not valid; `false` if such
   * a document is an error.
   */
  readonly leavesOut: "keep" | "remove" | false;
  /** Whether the node at a path is left out. */
  readonly isGone: (path: string) => boolean;
  /** Whether nodes that are left out stay where they are, so that groups go on naming them. */
  readonly keepsGone: boolean;
  /** The arrays of the source by path, as their own documents describe them. */
  readonly parsed: ReadonlyMap<string, ParsedArray>;
}

type ChangedArray = [before: ParsedArray, after: ParsedArray];

/** A document of the target. */
interface ConvertedDocument {
  readonly bytes: Uint8Array;
  /** The arrays that it describes, by path; that of its own node has an empty path. */
  readonly changes: ReadonlyMap<string, ChangedArray>;
}

/** Gives a document, and those in its consolidated metadata, the new layout. */
function convertedDocument(
  source: Place,
  { path, bytes, document }: Node,
  layout: LayoutOptions,
  { leavesOut, isGone, keepsGone, parsed }: DocumentSettings,
): ConvertedDocument {
  const inSource = <T>(task: () => T) =>
    inDocument(documentKey(source, path), describeStore(source.store), task);
  const removed = new Set<string>();
  const changes = new Map<string, ChangedArray>();
  const wholePath = (below: string) =>
    [path, below].filter((name) => name !== "").join("/");
  changeNodes(document, (node, below) => {
    if (isGone(wholePath(below))) {
      if (!keepsGone) removed.add(below);
      return node;
    }
    if (!isArrayDocument(node)) return node;
    let array = below === "" ? parsed.get(path) : undefined;
    try {
      // Damage of the source must not be reported as an error of the layout.
      array ??= inSource(() => parseArray(node));
    } catch (error) {
      const isLeftOut = leavesOut && error instanceof MetadataError;
      if (!isLeftOut) throw error;
      if (leavesOut === "remove") removed.add(below);
      return node;
    }
    const before = array;
    const whole = wholePath(below);
    const after = forArray(whole, () => changeLayout(before, whole, layout));
    changes.set(below, [before, after]);
    return node;
  });
  const converted = inSource(() =>
    changeZarrJson(bytes, (exact) =>
      changeNodes(exact, (node, below) => {
        if (removed.has(below)) return undefined;
        const change = changes.get(below);
        if (change) return withChanges(node as Members, change);
        return keepsGone
          ? node
          : withoutNamedNodes(node, wholePath(below), isGone);
      }))
  );
  return { bytes: converted, changes };
}

/** Runs a task, and adds the name of the array to errors about options. */
function forArray<T>(path: string, task: () => T): T {
  try {
    return task();
  } catch (error) {
    throw nameArray(error, path);
  }
}

function nameArray(error: unknown, path: string): unknown {
  for (const ErrorClass of [RangeError, TypeError]) {
    if (!(error instanceof ErrorClass)) continue;
    const array = `array ${describe(`/${path}`)}`;
    return new ErrorClass(`${error.message} (${array})`, { cause: error });
  }
  return error;
}

/**
 * Replaces the changed members of a document that holds exact numbers.
 *
 * @param before The document with inexact numbers before it was changed.
 * @param after The same document after it was changed.
 */
function withChanges(
  exact: Members,
  [before, after]: ChangedArray,
): unknown {
  if (after === before) return exact;
  const earlier = before.metadata as unknown as Members;
  return Object.fromEntries(
    Object.entries(after.metadata).map(([name, value]) => [
      name,
      Object.is(value, earlier[name]) ? exact[name] : value,
    ]),
  );
}
