import { ChunkList, parsedArrayOf } from "../../arrays/mod.ts";
import { describe } from "../../errors/mod.ts";
import {
  describePlace,
  listHierarchy,
  MARKER,
  type Place,
  rootIn,
} from "../../hierarchy/mod.ts";
import type { FileChanges, StoreKey, StoreOptions } from "../../stores/mod.ts";
import type { ConvertPlan } from "../convert/convert_plan.ts";
import { besideNodes, keysOf } from "../convert/source_files.ts";
import { markerKey, readMarker } from "../convert/unfinished_marker.ts";
import { changedKey, type DocumentChange } from "./documents.ts";
import type { InPlaceArray } from "./in_place_array.ts";
import type { InPlaceChunks } from "./in_place_run.ts";

/**
 * Lists the chunks of the earlier layout.
 *
 * @returns The chunks, and the paths of Zarr v2 nodes.
 * @throws {Error} If a file is where the new layout needs a file or a folder, or another
 * conversion is unfinished below the node.
 */
export async function listInPlace(
  plan: ConvertPlan,
  inPlace: readonly InPlaceArray[],
  options: StoreOptions,
): Promise<{ chunks: InPlaceChunks; v2Nodes: string[] }> {
  const { source, nodes, arrays } = plan;
  const byPath = new Map(inPlace.map((array) => [array.path, array]));
  const chunks = new Map(
    inPlace.map((array) => [
      array,
      new ChunkList(parsedArrayOf(array.source).gridShape.length),
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
        `The file ${
          describe(key)
        } is no chunk, and would be one in the new layout; remove it, or choose other keys`,
      );
    }
    array.assertFolders(key);
    others.add(key);
  };
  await listHierarchy(source, nodes, keysOf(source, arrays, "source"), {
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
export async function assertUnlinked(
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
