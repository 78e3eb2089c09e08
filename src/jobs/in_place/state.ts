import type { StoreKey } from "../../stores/mod.ts";
import type { LeftOutNode, OtherArray } from "../convert/convert_options.ts";
import type { Place } from "../../hierarchy/mod.ts";

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
   * The keys of Zarr v2 metadata beside a `zarr.json`, below the converted node. The metadata
   * is moved away before the first chunk changes, and moved back if the work is undone.
   */
  readonly v2Documents: readonly StoreKey[];
  /** The nodes whose documents are not valid, which stay as they are. */
  readonly leftOut: readonly LeftOutNode[];
  /** The paths of the nodes that `only` and `exclude` leave out. */
  readonly excluded?: readonly string[];
  /** The arrays that cannot get the layout, with `keepGoing`. */
  readonly others?: readonly OtherArray[];
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
  /** The document from the phase `join` to `cut`, for nodes that do not open then. */
  readonly interim?: string | undefined;
  readonly after: string;
}

/** The versions of a document that are put in place one after another. */
export type DocumentVersion = "before" | "interim" | "after";

/** An array whose chunks are recorded. */
interface RecordedArray {
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
export function stagedFolder({ root }: Place): StoreKey {
  return `${root as StoreKey}/.zarr-parts-unfinished`;
}

/** The key of the marker of a later phase. */
export function stagedMarker(place: Place, phase: InPlacePhase): StoreKey {
  return `${stagedFolder(place)}/${phase}.json`;
}

/** The key of a document that is put in place later. */
export function stagedDocument(
  place: Place,
  index: number,
  version: DocumentVersion,
): StoreKey {
  return `${stagedFolder(place)}/${index}.${version}.json`;
}

/** The key that a document of Zarr v2 is moved to. */
export function stagedV2Document(place: Place, index: number): StoreKey {
  return `${stagedFolder(place)}/${index}.v2.json`;
}

/** The key of the record of all chunks. */
export function recordKey(place: Place): StoreKey {
  return `${stagedFolder(place)}/chunks`;
}

/** The key that a file of the earlier layout is renamed to, so that readers find the file missing. */
export function hiddenKey(key: StoreKey): StoreKey {
  return `${key}.zarr-parts-old`;
}
