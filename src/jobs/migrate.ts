import { parseArray } from "../arrays/mod.ts";
import {
  BOOLEAN,
  checkOptions,
  inDocument,
  MetadataError,
  type OptionRules,
  SIGNAL,
} from "../errors/mod.ts";
import {
  hasNonFinite,
  isArrayDocument,
  parseExactZarrJson,
  parseZarrJson,
  V2_DOCUMENTS,
  withoutConsolidated,
} from "../metadata/mod.ts";
import { mapConcurrently, runConcurrently } from "../runtime/mod.ts";
import {
  assertWritable,
  backendOf,
  describeStore,
  remove,
  type Store,
  type StoreKey,
  type StoreOptions,
  write,
} from "../stores/mod.ts";
import { composeV2Document } from "../views/mod.ts";
import type { LeftOutNode } from "./convert/convert_options.ts";
import {
  documentKey,
  isInvalidInside,
  isSameDocument,
  type Node,
  type NodeLocation,
  type Place,
  placeOf,
  readNodes,
  rootIn,
} from "../hierarchy/mod.ts";

/**
 * Gives the arrays and groups of Zarr v2 at a place documents of Zarr v3: a `zarr.json` in
 * the folder of each, with the chunk key encoding `v2`. Chunks are neither read nor changed,
 * and programs that read Zarr v2 still read the nodes.
 *
 * Nodes that have a `zarr.json` already keep it. A group with consolidated metadata of Zarr
 * v2 gets consolidated metadata of Zarr v3, of the documents that its nodes have. The
 * documents of inner nodes are written first, and the outermost one last, so that a run
 * that was stopped can be run again.
 *
 * @param place The array or group: a store that can write, or such a store and a path.
 * @param options How the work is done.
 * @returns What was done.
 * @throws {MetadataError} If no node of Zarr v2 is at `place`, a document is not valid, or
 * Zarr v3 cannot represent a node: the error names the member of `.zarray`. Nothing is
 * written then.
 * @throws {TypeError} If the store is read-only, or an option is unknown or of a wrong type.
 * @throws {RangeError} If the path is not names joined by `/`.
 *
 * @example
 * ```ts
 * import { MemoryStore, openArrayChunks } from "@zarr-parts/zarr-parts";
 * import { migrate } from "@zarr-parts/zarr-parts/jobs";
 * import { assertEquals } from "@std/assert";
 *
 * const array = {
 *   zarr_format: 2,
 *   shape: [4],
 *   chunks: [2],
 *   dtype: "<f4",
 *   compressor: { id: "zstd", level: 3 },
 *   filters: null,
 *   fill_value: "NaN",
 *   order: "C",
 * };
 * const store = new MemoryStore([
 *   ["/.zarray", new TextEncoder().encode(JSON.stringify(array))],
 *   ["/.zattrs", new TextEncoder().encode('{"_ARRAY_DIMENSIONS": ["time"]}')],
 * ]);
 *
 * const { written } = await migrate(store);
 * assertEquals(written, ["/zarr.json"]);
 * const { metadata } = await openArrayChunks(store);
 * assertEquals(metadata.dimension_names, ["time"]);
 * assertEquals((await migrate(store)).written, []);
 * ```
 */
export async function migrate(
  place: Store | NodeLocation,
  options: MigrateOptions = {},
): Promise<Migration> {
  checkOptions(options, OPTIONS, "migrate");
  const { dryRun = false, removeV2 = false, signal } = options;
  const at = placeOf(place);
  if (!dryRun) assertWritable(at.store, documentKey(at, ""));
  const { nodes, leftOut } = await planMigration(at, options);
  // The documents of inner nodes come first.
  const written = nodes.filter(({ isWritten }) => isWritten).reverse();
  const removed = removeV2 ? await v2DocumentsOf(at, nodes, options) : [];
  if (!dryRun) {
    for (const { path, bytes } of written) {
      await write(at.store, documentKey(at, path), bytes, options);
    }
    // The .zarray or .zgroup of the outermost node is removed last, so that a run can be continued.
    const isLast = (key: StoreKey) =>
      key.lastIndexOf("/") === at.root.length &&
      /\.z(?:array|group)$/.test(key);
    const others = removed.filter((key) => !isLast(key));
    await runConcurrently(others, AT_ONCE, async (key, signal) => {
      await remove(at.store, key, { signal });
    }, signal);
    for (const key of removed.filter(isLast)) {
      await remove(at.store, key, options);
    }
  }
  const pathsOf = (kind: MigratedNode["kind"]) =>
    nodes.filter((node) => node.kind === kind).map(({ path }) => path);
  const keysOf = (nodes: readonly MigratedNode[]) =>
    nodes.map(({ path }) => documentKey(at, path));
  return {
    arrays: pathsOf("array"),
    groups: pathsOf("group"),
    written: keysOf(written),
    kept: keysOf(nodes.filter(({ kind, isWritten }) => kind && !isWritten)),
    removed,
    leftOut,
    masked: nodes.filter(({ isMasked }) => isMasked).map(({ path }) => path),
    notJson: keysOf(written.filter(({ bytes }) => hasNonFinite(bytes))),
  };
}

/**
 * Options of {@linkcode migrate}.
 *
 * @example What would be done
 * ```ts
 * import type { MigrateOptions } from "@zarr-parts/zarr-parts/jobs";
 *
 * const options: MigrateOptions = { dryRun: true, keepGoing: true };
 * ```
 */
export interface MigrateOptions extends StoreOptions {
  /** Whether nothing is written. The result then describes what would be done. */
  readonly dryRun?: boolean | undefined;
  /** Whether the `zarr.json` of nodes that also have documents of Zarr v2 is replaced. */
  readonly overwrite?: boolean | undefined;
  /**
   * Whether arrays that xarray has written get the attribute `_FillValue`, by which xarray finds
   * missing elements in Zarr v3. In Zarr v2, xarray treats elements that equal the fill value as
   * missing. Default: `true`.
   */
  readonly fillValueAttribute?: boolean | undefined;
  /**
   * Whether the documents of Zarr v2 of all nodes that have a `zarr.json` are removed at the
   * end. Programs that read only Zarr v2 then do not find the nodes.
   */
  readonly removeV2?: boolean | undefined;
  /**
   * Whether nodes of a group that Zarr v3 cannot represent are left as they are. By default,
   * such a node is an error, and nothing is written.
   */
  readonly keepGoing?: boolean | undefined;
}

const OPTIONS: OptionRules<MigrateOptions> = {
  dryRun: BOOLEAN,
  overwrite: BOOLEAN,
  removeV2: BOOLEAN,
  fillValueAttribute: BOOLEAN,
  keepGoing: BOOLEAN,
  signal: SIGNAL,
};

/**
 * The result of {@linkcode migrate}: what was done, or would be done.
 *
 * @example
 * ```ts
 * import type { Migration } from "@zarr-parts/zarr-parts/jobs";
 *
 * const text = ({ arrays, groups }: Migration) =>
 *   `${arrays.length} arrays and ${groups.length} groups`;
 * ```
 */
export interface Migration {
  /** The paths of the arrays with documents of Zarr v2, below the outermost node. */
  readonly arrays: readonly string[];
  /** The paths of the groups with documents of Zarr v2, below the outermost node. */
  readonly groups: readonly string[];
  /** The keys of the documents that were written, in this order. */
  readonly written: readonly StoreKey[];
  /** The keys of the documents that the nodes had before. */
  readonly kept: readonly StoreKey[];
  /** The keys of the documents of Zarr v2 that were removed. */
  readonly removed: readonly StoreKey[];
  /** The nodes that `keepGoing` left as they are, since Zarr v3 cannot represent them. */
  readonly leftOut: readonly LeftOutNode[];
  /**
   * The paths of arrays in which xarray finds missing elements by the fill value in Zarr v2, and
   * none in Zarr v3, since `fillValueAttribute` is `false`.
   */
  readonly masked: readonly string[];
  /**
   * The keys of written documents whose attributes have `NaN` or an infinity, as in the
   * documents of Zarr v2. JSON has no such numbers, so some programs cannot read these documents.
   */
  readonly notJson: readonly StoreKey[];
}

/** The number of documents that are read or removed at once. */
const AT_ONCE = 16;

/** A node that has a `zarr.json` in the end. */
interface MigratedNode {
  readonly path: string;
  /** `undefined` for a node without documents of Zarr v2. */
  readonly kind: "array" | "group" | undefined;
  /** The `zarr.json` in the end. */
  bytes: Uint8Array;
  readonly isWritten: boolean;
  /** Whether it is an array with missing elements that xarray does not find in Zarr v3. */
  readonly isMasked: boolean;
}

/**
 * Composes the documents of all nodes, in the order of their paths.
 *
 * @throws {MetadataError} If a node cannot be migrated.
 */
async function planMigration(
  place: Place,
  options: MigrateOptions,
): Promise<{ nodes: MigratedNode[]; leftOut: LeftOutNode[] }> {
  const { overwrite = false, keepGoing = false, fillValueAttribute } = options;
  const { store } = place;
  const nodes: MigratedNode[] = [];
  const compose = async (
    { path, bytes, document, v2Documents }: Node,
    signal: AbortSignal,
  ): Promise<MigratedNode> => {
    const root = rootIn(place, path);
    const kind = await kindOfV2(store, root, { signal });
    const node = { path, kind, bytes, isWritten: false, isMasked: false };
    if (kind === undefined) return node;
    const isNew = v2Documents.length > 0;
    const found = isNew || overwrite
      ? await composeV2Document(store, root, { signal }, { fillValueAttribute })
      : undefined;
    const composed = found?.bytes ?? bytes;
    const after = parseZarrJson(composed);
    inDocument(
      v2Documents[0] ?? documentKey(place, path),
      describeStore(store),
      () => isArrayDocument(after) && parseArray(after),
    );
    const isWritten = isNew || !isSameDocument(document, after);
    const isMasked = found?.isMasked ?? false;
    return { ...node, bytes: composed, isWritten, isMasked };
  };
  const read = await readNodes(place, options, { isLeftOut: isInvalidInside });
  const refused = [...read.failed];
  await runConcurrently(
    read.nodes,
    AT_ONCE,
    async (node, signal) => {
      try {
        nodes.push(await compose(node, signal));
      } catch (error) {
        if (!isInvalidInside(error as Error, node.path)) throw error;
        refused.push({ path: node.path, error: error as Error });
      }
    },
    options.signal,
  );
  nodes.sort(byPath);
  refused.sort(byPath);
  if (refused.length > 0 && !keepGoing) throw refusal(refused);
  if (nodes.every(({ kind }) => kind === undefined)) {
    throw new MetadataError(
      "Expected an array or a group of Zarr v2, found Zarr v3",
      "",
      { document: documentKey(place, ""), store: describeStore(store) },
    );
  }
  for (const group of nodes) {
    if (group.kind !== "group" || !group.isWritten) continue;
    const root = rootIn(place, group.path);
    const consolidated: StoreKey = `${root as StoreKey}/.zmetadata`;
    if (await backendOf(store).size(consolidated, options) === undefined) {
      continue;
    }
    const prefix = group.path === "" ? "" : `${group.path}/`;
    const inside = nodes.filter((node) =>
      node !== group && node.path.startsWith(prefix)
    );
    const composed = await composeV2Document(store, root, options, {
      nodes: new Map(inside.map(({ path, bytes }) => [
        path.slice(prefix.length),
        withoutConsolidated(parseExactZarrJson(bytes)),
      ])),
      fillValueAttribute,
    });
    if (composed !== undefined) group.bytes = composed.bytes;
  }
  return {
    nodes,
    leftOut: refused.map(({ path, error: { message } }) => ({ path, message })),
  };
}

function byPath(a: { path: string }, b: { path: string }): number {
  return a.path < b.path ? -1 : 1;
}

/** The kind of the node of Zarr v2 in a folder. */
async function kindOfV2(
  store: Store,
  root: string,
  options: StoreOptions,
): Promise<"array" | "group" | undefined> {
  for (const kind of ["array", "group"] as const) {
    const key = `${root}/.z${kind}` as StoreKey;
    if (await backendOf(store).size(key, options) !== undefined) return kind;
  }
  return undefined;
}

/** The most refused nodes that a message explains. */
const MOST_NAMED = 3;

/** The error about nodes that cannot be migrated. */
function refusal(
  refused: readonly { readonly error: Error }[],
): MetadataError {
  const count = refused.length;
  const reasons = refused.slice(0, MOST_NAMED)
    .map(({ error }) => error.message).join("; ");
  const among = count > MOST_NAMED ? ", among them" : "";
  return new MetadataError(
    count === 1
      ? `${reasons}; the option "keepGoing" leaves it as it is`
      : `${count} nodes cannot be migrated${among}: ${reasons}; the option "keepGoing" leaves them as they are`,
    "",
    { cause: refused[0]!.error },
  );
}

/** The keys of the documents of Zarr v2 of all nodes that have a `zarr.json` in the end. */
async function v2DocumentsOf(
  place: Place,
  nodes: readonly MigratedNode[],
  { signal }: StoreOptions,
): Promise<StoreKey[]> {
  const backend = backendOf(place.store);
  const keys = nodes.flatMap(({ path }) =>
    V2_DOCUMENTS.map((name) => `${rootIn(place, path)}/${name}` as StoreKey)
  ).sort();
  const sizes = await mapConcurrently(
    keys,
    AT_ONCE,
    (key, signal) => backend.size(key, { signal }),
    signal,
  );
  return keys.filter((_, i) => sizes[i] !== undefined);
}
