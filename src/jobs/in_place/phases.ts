import { describe, describeAll } from "../../errors/mod.ts";
import { type ArrayMetadata, isSameJson } from "../../metadata/mod.ts";
import type { FileChanges, StoreKey, StoreOptions } from "../../stores/mod.ts";
import { assertLayout, type LayoutOptions } from "../convert/change_layout.ts";
import {
  assertConcurrency,
  type Conversion,
  type ConvertProgress,
} from "../convert/convert_options.ts";
import { type ConvertPlan, planConversion } from "../convert/convert_plan.ts";
import {
  encodeMarker,
  markerKey,
  newInPlaceMarker,
} from "../convert/unfinished_marker.ts";
import {
  describePlace,
  pathIn,
  type Place,
} from "../hierarchy/node_location.ts";
import { cutChunks, joinChunks, undoJoins } from "./change.ts";
import { cleanUp, listInPlace, undoPreparation } from "./clean.ts";
import {
  documentChanges,
  metadataAfter,
  storeBefore,
  v2DocumentsBeside,
} from "./documents.ts";
import { InPlaceArray } from "./layout.ts";
import {
  assertAlone,
  assertFree,
  assertReachable,
  assertUnchanged,
  assertUnlinked,
  prepare,
} from "./prepare.ts";
import { InPlaceRun } from "./run.ts";
import type { DocumentChange, InPlaceState } from "./state.ts";

/** Converts a node in place that has no marker. */
export async function beginInPlace(
  place: Place,
  files: FileChanges,
  options: ConvertInPlaceOptions,
): Promise<Conversion> {
  const { signal } = options;
  const storeOptions: StoreOptions = signal ? { signal } : {};
  const plan = await planConversion(
    place,
    place,
    layoutOf(options) ?? {},
    { ...storeOptions, keepGoing: options.keepGoing },
  );
  const documents = await documentChanges(plan, storeOptions);
  const run = new InPlaceRun(place, files, arraysOf(plan, documents), options);
  await assertUnlinked(run, documents);
  await assertAlone(place, plan, storeOptions);
  const listing = await listInPlace(run, plan, storeOptions);
  assertFree(listing);
  for (const { count } of listing.chunks.values()) run.count += count;
  const counts = new Map(
    Array.from(listing.chunks, ([{ planned }, { count }]) => [
      planned.path,
      count,
    ]),
  );
  const v2Documents = await v2DocumentsBeside(plan, storeOptions);
  const { v2Nodes } = listing;
  const { leftOut } = plan;
  const begun = { documents, v2Documents, v2Nodes, leftOut };
  const conversion = (isFinished: boolean) =>
    conversionOf(run, counts, begun, isFinished);
  if (options.dryRun) return conversion(false);
  if (documents.length === 0) {
    // Chunks stay where they are, so that readers may find any of the documents.
    for (const key of v2Documents) {
      await files.remove(`${place.root as StoreKey}${key}`);
    }
    return conversion(true);
  }
  const marker = newInPlaceMarker({ ...begun, phase: "prepare", arrays: [] });
  await files.write(markerKey(place.root), encodeMarker(marker));
  let state: InPlaceState;
  try {
    await files.sync([place.root]);
    await assertAlone(place, plan, storeOptions);
    state = await prepare(run, listing.chunks, begun);
    await assertUnchanged(run, plan, state, listing);
  } catch (error) {
    await tryUndo(() => undoPreparation(run, plan));
    throw error;
  }
  await advance(run, plan, state);
  return conversion(true);
}

/** Finishes or undoes a conversion in place that was stopped; after undoing it, begins anew. */
export async function continueInPlace(
  place: Place,
  files: FileChanges,
  state: InPlaceState,
  options: ConvertInPlaceOptions,
): Promise<Conversion> {
  const { signal } = options;
  const storeOptions: StoreOptions = signal ? { signal } : {};
  assertReachable(place, state);
  const before = storeBefore(place, state);
  const after = metadataAfter(state);
  const begun = {
    metadata: (metadata: ArrayMetadata, path: string) =>
      (after(path) ?? metadata) as ArrayMetadata,
  };
  // The documents of other nodes may have become invalid meanwhile.
  const planOptions = { ...storeOptions, keepGoing: true };
  const plan = await planConversion(before, before, begun, planOptions);
  const layout = layoutOf(options);
  if (layout !== undefined) {
    const asked = await planConversion(before, before, layout, planOptions);
    const documents = await documentChanges(asked, storeOptions);
    if (!isSameJson(textsOf(documents), textsOf(state.documents))) {
      throw new Error(
        `Cannot convert ${
          describePlace(place)
        } in place: a conversion to another layout is unfinished; finish it first, by the same options or without a layout`,
      );
    }
  }
  const arrays = arraysOf(plan, state.documents);
  const run = new InPlaceRun(place, files, arrays, options);
  const counts = new Map(state.arrays.map(({ path, count }) => [path, count]));
  for (const count of counts.values()) run.count += count;
  if (options.dryRun) return conversionOf(run, counts, state, false);
  if (state.phase === "prepare" || state.phase === "undo") {
    await undo(run, plan, state);
    return await beginInPlace(place, files, {
      ...begun,
      keepGoing: state.leftOut.length > 0,
      ...options,
    });
  }
  await advance(run, plan, state);
  return conversionOf(run, counts, state, true);
}

/** Takes the phases after `prepare` that are left. */
async function advance(
  run: InPlaceRun,
  plan: ConvertPlan,
  state: InPlaceState,
): Promise<void> {
  let { phase } = state;
  const chunks = await run.readRecord(state);
  // Arrays whose files only get other names can be read all the time.
  const isClosed = state.documents.some(({ meanwhile }) => meanwhile);
  try {
    if (phase === "prepare") {
      const isJoined = run.arrays.some(({ growth }) => growth > 0);
      phase = isJoined ? "join" : isClosed ? "cut" : "clean";
      await run.enter(phase);
    }
    if (phase !== "clean") {
      await run.hideV2Documents(state);
      await run.placeDocuments(state, "meanwhile");
    }
    if (phase === "join") await joinChunks(run, chunks!);
  } catch (error) {
    // An earlier run may have cut files.
    if (state.phase === "cut") throw error;
    await tryUndo(async () => {
      await run.enter("undo");
      await undo(run, plan, { ...state, phase: "undo" });
    });
    throw error;
  }
  if (phase === "join") await run.enter("cut");
  if (phase !== "clean") {
    await cutChunks(run, state, chunks!);
    await run.enter("clean");
  }
  await cleanUp(run, state, chunks);
}

/** Restores the earlier layout, from the phases `prepare` and `undo`. */
async function undo(
  run: InPlaceRun,
  plan: ConvertPlan,
  state: InPlaceState,
): Promise<void> {
  const chunks = await run.readRecord(state);
  if (state.phase === "undo") {
    if (chunks !== undefined) await undoJoins(run, state, chunks);
    await run.showV2Documents(state);
  }
  await undoPreparation(run, plan);
}

/** Undoes a failed run. If this fails too, the next run does it. */
async function tryUndo(task: () => Promise<void>): Promise<void> {
  try {
    await task();
  } catch {
    // The marker is still there.
  }
}

/** The arrays whose documents change. */
function arraysOf(
  { source, arrays }: ConvertPlan,
  documents: readonly DocumentChange[],
): InPlaceArray[] {
  const changed = new Set(documents.map(({ path }) => path));
  return arrays.filter(({ path }) => changed.has(path)).map((planned) => {
    const root = pathIn(source, planned.path);
    return new InPlaceArray(planned, root === "" ? "" : `/${root}`);
  });
}

function textsOf(documents: readonly DocumentChange[]): string[][] {
  return documents.map(({ path, after }) => [path, after]);
}

function conversionOf(
  { arrays, bytes, count, place }: InPlaceRun,
  counts: ReadonlyMap<string, number>,
  { v2Documents, v2Nodes, leftOut }: Pick<
    InPlaceState,
    "v2Documents" | "v2Nodes" | "leftOut"
  >,
  isFinished: boolean,
): Conversion {
  return {
    arrays: arrays.map(({ planned: { path, source, target } }) => ({
      path,
      from: source.metadata,
      metadata: target.metadata,
      chunks: counts.get(path),
    })),
    total: count,
    copied: isFinished ? count : 0,
    skipped: 0,
    absent: 0,
    bytes,
    isFinished,
    v2Documents: v2Documents.map((key) =>
      `${place.root as StoreKey}${key}` as const
    ),
    v2Nodes,
    leftOut,
  };
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
  extends Omit<LayoutOptions, "container">, StoreOptions {
  /** The number of chunks that are changed at once, from 1. Default: 16. */
  readonly concurrency?: number | undefined;
  /**
   * Whether nodes in a group whose documents are not valid are left as they are. By default,
   * such a node is an error.
   */
  readonly keepGoing?: boolean | undefined;
  /** Whether nothing is written: the result then says what would be converted. */
  readonly dryRun?: boolean | undefined;
  /**
   * Called after each step. A chunk takes three of them: its new files are added, its file
   * is made longer or cut, and its old files are removed.
   *
   * @param progress How far the conversion is, in steps.
   */
  readonly onProgress?: ((progress: ConvertProgress) => void) | undefined;
}

/** The options that say which layout is wanted. */
const LAYOUT = [
  ...["keyEncoding", "suffix", "parts", "plain", "metadata"] as const,
];
const KNOWN: readonly string[] = [
  ...LAYOUT,
  ...["where", "concurrency", "keepGoing", "dryRun", "onProgress", "signal"],
];

/** Refuses options that are unknown, out of range or contradict each other. */
export function assertInPlaceOptions(options: ConvertInPlaceOptions): void {
  for (const name of Object.keys(options)) {
    if (KNOWN.includes(name)) continue;
    throw new TypeError(
      `Unknown option ${describe(name)} of a conversion in place; known are ${
        describeAll(KNOWN)
      }`,
    );
  }
  assertConcurrency(options.concurrency);
  assertLayout(options);
}

/** The layout that options say; `undefined` if they say none. */
export function layoutOf(
  options: ConvertInPlaceOptions,
): LayoutOptions | undefined {
  if (LAYOUT.every((name) => options[name] === undefined)) return undefined;
  const names = [...LAYOUT, "where"] as const;
  return Object.fromEntries(names.map((name) => [name, options[name]]));
}
