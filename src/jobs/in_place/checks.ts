import { describe } from "../../metadata/describe.ts";
import type { StoreKey, StoreOptions } from "../../stores/store.ts";
import type { ConvertPlan } from "../plan/convert_plan.ts";
import { type InPlaceListing, listInPlace } from "./listing.ts";
import type { InPlaceRun } from "./run.ts";
import { changedKey, type DocumentChange, type InPlaceState } from "./state.ts";
import {
  describePlace,
  documentKey,
  type Place,
} from "../hierarchy/node_location.ts";
import { markerKey, readMarker } from "../plan/unfinished_marker.ts";

/** Refuses documents that are links, and folders that listings leave out since links lead to them. */
export async function assertUnlinked(
  { files, place }: InPlaceRun,
  documents: readonly DocumentChange[],
): Promise<void> {
  for (const change of documents) await files.stat(changedKey(place, change)!);
  const linked = await files.findLinkedFolder(place.root);
  if (linked === undefined) return;
  throw new Error(
    `Cannot convert ${describePlace(place)} in place: ${
      describe(linked)
    } is a symbolic link to a folder, whose files would not be converted; convert to another place`,
  );
}

/** Refuses nodes above or below of which another conversion is unfinished. */
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
    if (path === "") continue;
    const key = documentKey(place, path);
    roots.push(key.slice(0, -"/zarr.json".length) as StoreKey);
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

/** Refuses files that are where the new layout needs a file or a folder. */
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

/** Refuses a store that lacks a group above whose document changes, too. */
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

/** Refuses to go on if another program has written to the arrays. */
export async function assertUnchanged(
  run: InPlaceRun,
  plan: ConvertPlan,
  { documents }: InPlaceState,
  { fingerprint }: InPlaceListing,
): Promise<void> {
  const { place, signal } = run;
  const options: StoreOptions = signal ? { signal } : {};
  for (const change of documents) {
    const key = changedKey(place, change)!;
    const bytes = await place.store.get(key, options);
    if (
      new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes) !==
        change.before
    ) {
      throw run.changed(key);
    }
  }
  const listed = await listInPlace(run, plan, options);
  if (listed.fingerprint === fingerprint) return;
  throw run.changed(documentKey(place, ""));
}
