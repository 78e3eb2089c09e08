import { ChunkList } from "../../arrays/mod.ts";
import { describe } from "../../errors/mod.ts";
import type { StoreKey, StoreOptions } from "../../stores/mod.ts";
import type { ConvertPlan } from "../convert/convert_plan.ts";
import { besideNodes, keysOf } from "../convert/source_files.ts";
import { markerKey, readMarker } from "../convert/unfinished_marker.ts";
import {
  describePlace,
  listHierarchy,
  MARKER,
  type Place,
  rootIn,
} from "../../hierarchy/mod.ts";
import type { InPlaceArray } from "./chunk_files.ts";
import {
  changedKey,
  type DocumentChange,
  type InPlaceState,
} from "./documents.ts";
import type { InPlaceRun } from "./in_place_run.ts";

/** The chunks and other files below a node that is converted in place. */
export interface InPlaceListing {
  readonly chunks: ReadonlyMap<InPlaceArray, ChunkList>;
  /** The keys below arrays that are keys of chunks in the new layout only. */
  readonly added: readonly StoreKey[];
  /** The keys of other files below arrays. */
  readonly others: ReadonlySet<StoreKey>;
  /** The paths of Zarr v2 nodes. */
  readonly v2Nodes: readonly string[];
}

/**
 * Lists the chunks of the earlier layout, and the other files.
 *
 * @throws {Error} If another conversion is unfinished below the node.
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
      if (array !== undefined) chunks.get(array)!.push(coordinates);
    },
    file,
    stray: file,
  }, options);
  return { chunks, added, others, v2Nodes };
}

/** Throws if a document is a symbolic link, or a folder is one, since no listing shows its files. */
export async function assertUnlinked(
  { files, place }: InPlaceRun,
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
export async function assertAlone(
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
    const marker = await readMarker({ ...place, root }, options);
    if (marker === undefined) continue;
    throw new Error(
      `Cannot convert ${
        describePlace(place)
      } in place, since another conversion is unfinished: ${
        describe(markerKey(root))
      }`,
    );
  }
}

/** Throws if a file is where the new layout needs a file or a folder. */
export function assertFree({ added, chunks, others }: InPlaceListing): void {
  const [key] = added;
  if (key !== undefined) {
    throw new Error(
      `The file ${
        describe(key)
      } is no chunk, and would be one in the new layout; remove it, or choose other keys`,
    );
  }
  for (const [array, list] of chunks) {
    for (const coordinates of list) {
      array.assertNoFolderClash(coordinates, others);
    }
    for (const other of others) {
      array.assertFolders(other, (folder) => array.newKeys.isTaken(folder));
    }
  }
}

/** Throws if a document of a group above the place changes, and the store does not hold it. */
export function assertReachable(
  place: Place,
  { documents }: InPlaceState,
): void {
  if (documents.every((change) => changedKey(place, change))) return;
  throw new RangeError(
    `Cannot finish the conversion of ${
      describePlace(place)
    } in place, since it also changes a group above; expected a store that holds that group, as in the run before`,
  );
}
