import { describe } from "../../errors/mod.ts";
import type { FolderKey, StoreKey, StoreOptions } from "../../stores/mod.ts";
import {
  besideNodes,
  type ConvertPlan,
  keysOf,
} from "../convert/convert_plan.ts";
import { MARKER, markerKey } from "../convert/unfinished_marker.ts";
import { ChunkList } from "../hierarchy/array_keys.ts";
import { addHash, listHierarchy } from "../hierarchy/list_hierarchy.ts";
import { describePlace } from "../hierarchy/node_location.ts";
import type { InPlaceArray } from "./layout.ts";
import { folderOf, type InPlaceRun, type RecordedChunk } from "./run.ts";
import { hiddenKey, type InPlaceState, stagedFolder } from "./state.ts";

/** Puts the new documents in place, and removes what is left of the earlier layout. */
export async function cleanUp(
  run: InPlaceRun,
  state: InPlaceState,
  chunks: Iterable<RecordedChunk> | undefined,
): Promise<void> {
  await run.hideV2Documents(state);
  await run.placeDocuments(state, "after");
  if (chunks !== undefined) {
    const folders = new Set<FolderKey>();
    await run.forEach(chunks, async (chunk) => {
      for (const folder of await removeOld(run, chunk)) folders.add(folder);
    });
    await removeEmpty(run, folders);
  }
  await removeState(run);
}

/** Removes the files of a chunk that the new layout does not have. Returns their folders. */
async function removeOld(
  run: InPlaceRun,
  { array, files: { data, tail, removed, renamed } }: RecordedChunk,
): Promise<FolderKey[]> {
  const { files } = run;
  for (const { from, to } of renamed) {
    const [old, now] = [await files.stat(from), await files.stat(to)];
    // The old name must not lead to a newer file than the new name.
    if (old && old.ino !== now?.ino) throw run.changed(from);
  }
  const gone = removed.map((key) =>
    array.growth > 0 && tail.includes(key) ? hiddenKey(key) : key
  );
  for (const key of gone) await files.remove(key);
  return [...removed, ...data ? [data.from] : []].map(folderOf);
}

/** Removes empty folders, and the empty folders above them. */
export async function removeEmpty(
  { files, place }: InPlaceRun,
  folders: ReadonlySet<FolderKey>,
): Promise<void> {
  const remaining = new Set<FolderKey>();
  for (let folder of folders) {
    while (
      folder.length > place.root.length && await files.removeFolder(folder)
    ) folder = folderOf(folder as StoreKey);
    remaining.add(folder);
  }
  await files.sync(remaining);
}

/** Removes the files that tell of the conversion, the marker last. */
export async function removeState(
  { files, place }: InPlaceRun,
): Promise<void> {
  const folder = stagedFolder(place);
  const staged = await Array.fromAsync(place.store.list!(`${folder}/`));
  for (const key of staged) await files.remove(key);
  await files.removeFolder(folder);
  await files.remove(markerKey(place.root));
  await files.sync([place.root]);
}

/** The files below a node that is converted in place. */
export interface InPlaceListing {
  readonly chunks: ReadonlyMap<InPlaceArray, ChunkList>;
  /** A number that depends on all chunks, in any order. */
  readonly fingerprint: number;
  /** The files below arrays that are keys of chunks in the new layout only. */
  readonly added: readonly StoreKey[];
  /** The other files below arrays. */
  readonly others: ReadonlySet<StoreKey>;
  /** The paths of Zarr v2 nodes. */
  readonly v2Nodes: readonly string[];
}

/**
 * Lists the chunks of the earlier layout.
 *
 * @throws {Error} If there is the marker of another conversion below.
 */
export async function listInPlace(
  run: InPlaceRun,
  plan: ConvertPlan,
  options: StoreOptions,
): Promise<InPlaceListing> {
  const { source, nodes, arrays } = plan;
  const byPath = new Map(run.arrays.map((each) => [each.planned.path, each]));
  const chunks = new Map(
    run.arrays.map((array) => [array, new ChunkList(array.rank)]),
  );
  const added: StoreKey[] = [];
  const others = new Set<StoreKey>();
  const v2Nodes: string[] = [];
  const isBeside = besideNodes(plan);
  let fingerprint = 0;
  const file = (key: StoreKey, path: string | undefined) => {
    if (key.endsWith(MARKER) && key !== markerKey(source.root)) {
      throw new Error(
        `Cannot convert ${
          describePlace(run.place)
        } in place, since another conversion is unfinished: ${describe(key)}`,
      );
    }
    if (/\/\.z(?:array|group)$/.test(key) && !isBeside(key)) {
      const start = source.root.length + 1;
      v2Nodes.push(key.slice(start, key.lastIndexOf("/")));
    }
    const array = path === undefined ? undefined : byPath.get(path);
    if (array?.newKeys.isTaken(key)) added.push(key);
    else if (array !== undefined) others.add(key);
  };
  await listHierarchy(source, nodes, keysOf(source, arrays), {
    chunk(path, coordinates) {
      const array = byPath.get(path);
      if (array === undefined) return;
      chunks.get(array)!.push(coordinates);
      fingerprint = addHash(fingerprint, `${path} ${coordinates}`);
    },
    file,
    stray: file,
  }, options);
  return { chunks, fingerprint, added, others, v2Nodes };
}

/** Removes the files that were added for the new layout, and then the state of the conversion. */
export async function undoPreparation(
  run: InPlaceRun,
  plan: ConvertPlan,
): Promise<void> {
  const { added } = await listInPlace(run, plan, {});
  const folders = new Set<FolderKey>();
  for (const key of added) {
    await run.files.remove(key);
    folders.add(folderOf(key));
  }
  await removeEmpty(run, folders);
  await removeState(run);
}
