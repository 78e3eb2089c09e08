import { ChunkList, missingArray } from "../../arrays/mod.ts";
import {
  BOOLEAN,
  checkOptions,
  describe,
  FUNCTION,
  type OptionRules,
  sentence,
  SIGNAL,
} from "../../errors/mod.ts";
import {
  describeStore,
  FileChanges,
  recover,
  type Store,
  type StoreKey,
  type StoreOptions,
} from "../../stores/mod.ts";
import {
  assertLayout,
  LAYOUT_OPTIONS,
  type LayoutOptions,
} from "../convert/change_layout.ts";
import {
  CONCURRENCY,
  type Conversion,
  type ConvertProgress,
} from "../convert/convert_options.ts";
import { type ConvertPlan, planConversion } from "../convert/convert_plan.ts";
import { besideNodes } from "../convert/source_files.ts";
import {
  createMarker,
  markerKey,
  newInPlaceMarker,
  readMarker,
  setMarker,
} from "../convert/unfinished_marker.ts";
import {
  describePlace,
  documentKey,
  listHierarchy,
  MARKER,
  NODE_OPTIONS,
  type NodeLocation,
  type NodeSelection,
  type Place,
  placeOf,
  rootIn,
} from "../../hierarchy/mod.ts";
import {
  changedKey,
  type DocumentChange,
  documentChanges,
  type InPlaceState,
} from "./documents.ts";
import { arraysOf, type InPlaceChunks, InPlaceRun } from "./in_place_run.ts";
import type { InPlaceArray } from "./in_place_array.ts";

/**
 * Gives an array, or all arrays of a group, another layout in the folder where they are,
 * without a second copy. Files get other names, and a file of which the new layout has
 * only the first bytes is cut; a file is made longer where the new layout has several
 * objects in one. So the time depends on the number of chunks and the sizes of the parts,
 * and not on the size of the data.
 *
 * The part without a size must begin at the same place of each chunk before and after,
 * as in `["", ".index"]` and in chunks of one object.
 *
 * The array does not open until the work is done. A run that fails restores the earlier layout.
 * If restoring fails, too, or the run was killed, another run with the same options or
 * without a layout finishes the conversion; the file `.zarr-parts-unfinished.json` says so.
 * Programs that have opened the array before must open it again, and nobody may write during
 * the conversion.
 *
 * With a store whose option `sync` is set, each step waits until all before it is on the
 * disk, so that a loss of power is like a kill. This takes some milliseconds for each chunk.
 *
 * @param location The array or group, in a `FileSystemStore`. Consolidated metadata of
 * groups above it in the store is changed, too.
 * @param options The new layout, and how the work is done.
 * @returns What was done: `copied` counts the chunks, and `bytes` the bytes that were written.
 * @throws {MetadataError} If no node is there, or its metadata or the new one is not valid.
 * @throws {MissingPartError} If a chunk lacks parts.
 * @throws {PartSizeError} If a chunk does not fit the sizes of its parts, or the new ones.
 * @throws {RangeError} If an option is out of range, the bytes of chunks would have to be
 * moved, or new keys are those of other chunks.
 * @throws {TypeError} If an option is unknown or of a wrong type, or the store is no
 * `FileSystemStore`.
 * @throws {Error} If a file that would be changed has several names or is a link, a file is
 * where a new one is needed, another program is at work, or a conversion to this place or
 * with another layout is unfinished.
 *
 * @example
 * ```ts
 * import { arrayMetadata, createArrayChunks, FileSystemStore } from "@zarr-parts/zarr-parts";
 * import { convertInPlace } from "@zarr-parts/zarr-parts/jobs";
 * import { assertEquals } from "@std/assert";
 *
 * const folder = await Deno.makeTempDir();
 * const store = new FileSystemStore(folder);
 * const metadata = arrayMetadata({
 *   shape: [6],
 *   dataType: "uint8",
 *   chunkShape: [3],
 *   codecs: ["crc32c"],
 * });
 * const chunks = await createArrayChunks(store, "", metadata);
 * await chunks.set([0], new Uint8Array([1, 2, 3, 4, 5, 6, 7]));
 *
 * await convertInPlace(store, { suffix: ".raw", parts: ["", ".crc32c"] });
 * assertEquals(await store.get("/c/0.raw"), new Uint8Array([1, 2, 3]));
 * assertEquals(await store.get("/c/0.raw.crc32c"), new Uint8Array([4, 5, 6, 7]));
 *
 * await convertInPlace(store, { plain: true });
 * assertEquals(await store.get("/c/0"), new Uint8Array([1, 2, 3, 4, 5, 6, 7]));
 * await Deno.remove(folder, { recursive: true });
 * ```
 */
export async function convertInPlace(
  location: Store | NodeLocation,
  options: ConvertInPlaceOptions = {},
): Promise<Conversion> {
  checkOptions(options, OPTIONS, "convertInPlace");
  assertLayout(options);
  const place = placeOf(location);
  const { store, root } = place;
  const files = FileChanges.of(store);
  if (files === undefined) {
    throw new TypeError(
      `Cannot convert in place in ${
        describeStore(store)
      }: expected a FileSystemStore, whose files can be cut and renamed; convert to another place instead`,
    );
  }
  if (await store.get(documentKey(place, ""), options) === undefined) {
    throw await missingArray(store, root, options);
  }
  const unlock = options.dryRun ? async () => {} : await files.lock(root);
  if (unlock === undefined) {
    throw new Error(
      `Another program is converting ${
        describePlace(place)
      } in place; wait until it has ended`,
    );
  }
  try {
    const marker = await readMarker(place, options);
    if (marker?.inPlace) {
      return await continueInPlace(place, files, marker.inPlace, options);
    }
    if (marker === undefined) return await beginInPlace(place, files, options);
    throw new Error(
      `Cannot convert ${
        describePlace(place)
      } in place: a conversion to it is unfinished; finish it by convert with the option resume`,
    );
  } finally {
    await unlock();
  }
}

/**
 * Options of {@linkcode convertInPlace}.
 *
 * @example
 * ```ts
 * import type { ConvertInPlaceOptions } from "@zarr-parts/zarr-parts/jobs";
 *
 * const options: ConvertInPlaceOptions = { suffix: ".shard", parts: ["", ".index"] };
 * ```
 */
export interface ConvertInPlaceOptions
  extends
    Omit<LayoutOptions, "container" | "recode">,
    NodeSelection,
    StoreOptions {
  /** The number of chunks that are changed at once, from 1. Default: 16. */
  readonly concurrency?: number | undefined;
  /**
   * Whether nodes in a group are left as they are whose documents are not valid, and arrays that
   * cannot get the layout. By default, such a node is an error.
   */
  readonly keepGoing?: boolean | undefined;
  /** Whether nothing is written: the result then says what would be converted. */
  readonly dryRun?: boolean | undefined;
  /**
   * Called after each step. A chunk takes two of them: it is checked, and its files are changed.
   *
   * @param progress How far the conversion is, in steps.
   */
  readonly onProgress?: ((progress: ConvertProgress) => void) | undefined;
}

/** The options that say how chunks are stored. */
const { container: _, recode: __, ...IN_PLACE_LAYOUT } = LAYOUT_OPTIONS;

const OPTIONS: OptionRules<ConvertInPlaceOptions> = {
  ...IN_PLACE_LAYOUT,
  ...NODE_OPTIONS,
  concurrency: CONCURRENCY,
  keepGoing: BOOLEAN,
  dryRun: BOOLEAN,
  onProgress: FUNCTION,
  signal: SIGNAL,
};

/** Begins a conversion in place, and carries it out. No earlier conversion of the node is unfinished. */
async function beginInPlace(
  place: Place,
  files: FileChanges,
  options: ConvertInPlaceOptions,
): Promise<Conversion> {
  const { signal, dryRun = false } = options;
  if (!dryRun) {
    // Interrupted writes of chunks must be finished before files are changed.
    const path = place.root.slice(1);
    await recover(place.store, { path, ...signal && { signal } });
  }
  const plan = await planConversion(place, place, options);
  const documents = await documentChanges(plan, options);
  const arrays = arraysOf(place, documents);
  await assertUnlinked(place, files, documents);
  await assertAlone(place, plan, options);
  const listed = await listInPlace(plan, arrays, options);
  const counts = Object.fromEntries(
    Array.from(listed.chunks, ([{ path }, { count }]) => [path, count]),
  );
  const state: InPlaceState = {
    isUndone: false,
    documents,
    layout: layoutText(options),
    counts,
    report: {
      v2Documents: documents.filter(({ after }) => after === null)
        .map((change) => changedKey(place, change)!),
      v2Nodes: listed.v2Nodes,
      leftOut: plan.leftOut,
      excluded: [...plan.selected.excluded],
      others: plan.others,
    },
  };
  const run = new InPlaceRun(place, files, state, options);
  await run.check(listed.chunks);
  if (dryRun) return run.conversion;
  if (documents.length === 0) return { ...run.conversion, isFinished: true };
  const marker = newInPlaceMarker(state);
  if (!await createMarker(place, marker, options)) {
    throw new Error(`Another program is converting ${describePlace(place)}`);
  }
  try {
    await assertAlone(place, plan, options);
  } catch (error) {
    await setMarker(place, undefined, {});
    throw error;
  }
  return await run.carryOut();
}

/** Finishes a conversion in place that was stopped, or undoes it and begins anew. */
async function continueInPlace(
  place: Place,
  files: FileChanges,
  state: InPlaceState,
  options: ConvertInPlaceOptions,
): Promise<Conversion> {
  const { documents, layout, report, isUndone } = state;
  if (documents.some((change) => changedKey(place, change) === undefined)) {
    throw new RangeError(
      `Cannot finish the conversion of ${
        describePlace(place)
      } in place, since it also changes a group above; expected a store that holds that group, as in the run before`,
    );
  }
  const wanted = layoutText(options);
  if (wanted !== "" && !isUndone && wanted !== layout) {
    throw new Error(
      `Cannot convert ${
        describePlace(place)
      } in place: a conversion to another layout is unfinished; finish it first, by the same options or without a layout`,
    );
  }
  const run = new InPlaceRun(place, files, state, options);
  if (options.dryRun) return run.conversion;
  await run.recover();
  const conversion = await run.carryOut();
  if (!isUndone) return conversion;
  const byPath = new Map(conversion.arrays.map((array) => [array.path, array]));
  return await beginInPlace(place, files, {
    metadata: (metadata, path) => byPath.get(path)?.from ?? metadata,
    keepGoing: report.leftOut.length + report.excluded.length > 0,
    ...options,
  });
}

/** The options of the layout as a text, where functions count by their code; empty if none is given. */
function layoutText(options: ConvertInPlaceOptions): string {
  const names = Object.keys(
    IN_PLACE_LAYOUT,
  ) as (keyof typeof IN_PLACE_LAYOUT)[];
  const given = names.filter((name) => options[name] !== undefined);
  if (given.every((name) => name === "where")) return "";
  return JSON.stringify(
    given.map((name) => [name, options[name]]),
    (_, value) =>
      typeof value === "function" || typeof value === "bigint"
        ? String(value)
        : value,
  );
}

/**
 * Lists the chunks of the earlier layout.
 *
 * @returns The chunks, and the paths of Zarr v2 nodes.
 * @throws {Error} If a file is where the new layout needs a file or a folder, or another
 * conversion is unfinished below the node.
 */
async function listInPlace(
  plan: ConvertPlan,
  inPlace: readonly InPlaceArray[],
  options: StoreOptions,
): Promise<{ chunks: InPlaceChunks; v2Nodes: string[] }> {
  const { source, nodes } = plan;
  const byPath = new Map(inPlace.map((array) => [array.path, array]));
  const chunks = new Map(
    inPlace.map((array) => [
      array,
      new ChunkList(array.source.gridShape.length),
    ]),
  );
  const others = new Set<StoreKey>();
  const v2Nodes: string[] = [];
  const isBeside = besideNodes(plan);
  const file = (key: StoreKey, path: string | undefined) => {
    if (key.endsWith(MARKER) && key !== markerKey(source.root)) {
      throw unfinishedError(source, key);
    }
    if (/\/\.z(?:array|group)$/.test(key) && !isBeside(key)) {
      const start = source.root.length + 1;
      v2Nodes.push(key.slice(start, key.lastIndexOf("/")));
    }
    const array = path === undefined ? undefined : byPath.get(path);
    if (array === undefined) return;
    if (array.newKeys.isTaken(key)) {
      throw new Error(
        sentence`The file ${key} is no chunk, and would be one in the new layout; remove it, or choose other keys`,
      );
    }
    array.assertFolders(key);
    others.add(key);
  };
  await listHierarchy(source, nodes, {
    chunk(path, coordinates) {
      const array = byPath.get(path);
      if (array !== undefined) chunks.get(array)!.push(coordinates);
    },
    file,
    stray: file,
  }, options);
  for (const [array, list] of chunks) {
    for (const coordinates of list) {
      array.assertNoCollision(coordinates, others);
    }
  }
  return { chunks, v2Nodes };
}

/** Throws if a document is a symbolic link, or a folder is one, since no listing shows its files. */
async function assertUnlinked(
  place: Place,
  files: FileChanges,
  documents: readonly DocumentChange[],
): Promise<void> {
  for (const change of documents) files.stat(changedKey(place, change)!);
  const linked = await files.findLinkedFolder(place.root);
  if (linked === undefined) return;
  throw new Error(
    `Cannot convert ${describePlace(place)} in place: ${
      describe(linked)
    } is a symbolic link to a folder, whose files would not be converted; convert to another place`,
  );
}

/** Throws if another conversion of a node above or below the place is unfinished. */
async function assertAlone(
  place: Place,
  { nodes }: ConvertPlan,
  options: StoreOptions,
): Promise<void> {
  const roots: ("" | StoreKey)[] = [];
  for (let root = place.root as string; root !== "";) {
    root = root.slice(0, root.lastIndexOf("/"));
    roots.push(root as StoreKey);
  }
  for (const { path } of nodes) {
    if (path !== "") roots.push(rootIn(place, path));
  }
  for (const root of roots) {
    if (await readMarker({ ...place, root }, options)) {
      throw unfinishedError(place, markerKey(root));
    }
  }
}

function unfinishedError(place: Place, key: StoreKey): Error {
  return new Error(
    `Cannot convert ${
      describePlace(place)
    } in place, since another conversion is unfinished: ${describe(key)}`,
  );
}
