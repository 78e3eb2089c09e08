import type { StoreKey } from "../../stores/mod.ts";
import type { LeftOutNode } from "../convert/convert_options.ts";
import type { Place } from "../hierarchy/node_location.ts";

/**
 * A phase of a conversion in place:
 *
 * - `prepare`: new files are added, and the earlier layout is whole.
 * - `join`: files are made longer. The arrays concerned do not open.
 * - `cut`: files are cut and renamed.
 * - `clean`: the new documents are put in place, and files of the earlier layout removed.
 * - `undo`: the earlier layout is restored, since a file could not be made longer.
 */
export type InPlacePhase = "prepare" | "join" | "cut" | "clean" | "undo";

/** The state of a conversion in place. */
export interface InPlaceState {
  readonly phase: InPlacePhase;
  /**
   * The keys of Zarr v2 metadata beside a `zarr.json`, below the converted node. It is taken
   * away before the first chunk, and put back if the work is undone.
   */
  readonly v2Documents: readonly StoreKey[];
  /** The nodes whose documents are not valid, which stay as they are. */
  readonly leftOut: readonly LeftOutNode[];
  /** The paths of Zarr v2 nodes below the converted node, which stay as they are. */
  readonly v2Nodes: readonly string[];
  readonly documents: readonly DocumentChange[];
  /** The arrays whose chunks are recorded, in order; empty in the phase `prepare`. */
  readonly arrays: readonly RecordedArray[];
}

/** A document before and after a conversion in place. */
export interface DocumentChange {
  /** The path of the node below the converted one, or `..` for each group above it. */
  readonly path: string;
  /** The name of the document. Default: `zarr.json`. */
  readonly name?: ".zmetadata";
  readonly before: string;
  /** The document in between, for nodes that do not open then. */
  readonly meanwhile?: string | undefined;
  readonly after: string;
}

/** An array whose chunks are recorded. */
export interface RecordedArray {
  readonly path: string;
  /** The number of chunks. */
  readonly count: number;
  /** Whether files are renamed in the phase `cut`, since the file system has no hard links. */
  readonly isRenamed: boolean;
}

/** The key of the document of a {@linkcode DocumentChange}; `undefined` if it lies outside of the store. */
export function changedKey(
  { root }: Place,
  { path, name: document }: DocumentChange,
): StoreKey | undefined {
  const names = root.split("/").slice(1);
  for (const name of path.split("/")) {
    if (name === "..") {
      if (names.pop() === undefined) return undefined;
    } else if (name !== "") names.push(name);
  }
  return `/${[...names, document ?? "zarr.json"].join("/")}`;
}

/** The folder of the files that a conversion in place needs until its end. */
const FOLDER = "/.zarr-parts-unfinished";

/** The folder of the files of a conversion in place. */
export function stagedFolder({ root }: Place): StoreKey {
  return `${root as StoreKey}${FOLDER}`;
}

/** The key of the marker of a later phase. */
export function stagedMarker(place: Place, phase: InPlacePhase): StoreKey {
  return `${stagedFolder(place)}/${phase}.json`;
}

/** The key of a document that is put in place later. */
export function stagedDocument(
  place: Place,
  index: number,
  version: "before" | "meanwhile" | "after",
): StoreKey {
  return `${stagedFolder(place)}/${index}.${version}.json`;
}

/** The key of a document of Zarr v2 that was taken away. */
export function stagedV2Document(place: Place, index: number): StoreKey {
  return `${stagedFolder(place)}/${index}.v2.json`;
}

/** The key of the record of all chunks. */
export function recordKey(place: Place): StoreKey {
  return `${stagedFolder(place)}/chunks`;
}

/** The key of a file of the earlier layout that was hidden from its readers. */
export function hiddenKey(key: StoreKey): StoreKey {
  return `${key}.zarr-parts-old`;
}
