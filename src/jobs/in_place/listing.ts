import { describe } from "../../metadata/describe.ts";
import type { FolderKey } from "../../stores/file_system/file_changes.ts";
import type { StoreKey, StoreOptions } from "../../stores/store.ts";
import { ChunkList } from "../hierarchy/chunk_list.ts";
import { besideNodes, type ConvertPlan, keysOf } from "../plan/convert_plan.ts";
import type { InPlaceArray } from "./array.ts";
import { removeEmpty, removeState } from "./clean.ts";
import { folderOf, type InPlaceRun } from "./run.ts";
import { listHierarchy } from "../hierarchy/list_hierarchy.ts";
import { describePlace } from "../hierarchy/node_location.ts";
import { addHash } from "../hierarchy/hash_sum.ts";
import { MARKER, markerKey } from "../plan/unfinished_marker.ts";

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
