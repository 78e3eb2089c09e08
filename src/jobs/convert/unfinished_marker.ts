import { describe } from "../../errors/mod.ts";
import {
  remove,
  rootOf,
  type Store,
  type StoreKey,
  type StoreOptions,
  write,
  writeNew,
} from "../../stores/mod.ts";
import {
  describePlace,
  MARKER,
  type NodeLocation,
  type Place,
  placeOf,
} from "../../hierarchy/mod.ts";
import type { InPlaceState } from "../in_place/documents.ts";

/** The marker of an unfinished conversion, which is stored in the target until the end. */
export interface UnfinishedMarker {
  /** Advice for people who find the file. */
  readonly help: string;
  /** The random number of the run that writes. Shares keep the number of the first one. */
  readonly run: string;
  /** A digest of the documents of the source and of the target. */
  readonly plan: string;
  /** The documents that the conversion writes in the end, which tell the keys of its chunks. */
  readonly own?: Documents;
  /** Earlier documents at the target, whose chunks are replaced or removed. */
  readonly earlier?: Documents | undefined;
  /** The state of a conversion in place, which has no other target. */
  readonly inPlace?: InPlaceState;
}

/** Documents as texts, by their keys below the target. */
export type Documents = readonly (readonly [key: StoreKey, text: string])[];

const HELP =
  'This conversion is not finished: run it again with the option "resume" of convert, or --resume on the command line; or remove this folder';

/** Creates the marker of a new run. */
export function newMarker(
  plan: string,
  documents: Pick<UnfinishedMarker, "own" | "earlier"> = {},
): UnfinishedMarker {
  return { help: HELP, run: crypto.randomUUID(), plan, ...documents };
}

/** Creates the marker of a conversion in place. */
export function newInPlaceMarker(inPlace: InPlaceState): UnfinishedMarker {
  return {
    ...newMarker("in place"),
    help:
      "A conversion in place is not finished: run zarr-parts convert --in-place on this folder again",
    inPlace,
  };
}

/** Reads the marker of a place, if there is one. */
export async function readMarker(
  { store, root }: Place,
  options: StoreOptions,
): Promise<UnfinishedMarker | undefined> {
  const bytes = await store.get(markerKey(root), options);
  if (bytes === undefined) return undefined;
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    // A store without atomic writes may hold only the first bytes of the marker.
    return { help: "", run: "", plan: "" };
  }
}

/** Whether a conversion to a place, or in place, is unfinished; `false` if the store cannot be read. */
export async function isUnfinished(
  location: Store | NodeLocation,
): Promise<boolean> {
  const marker = await readMarker(placeOf(location), {}).catch(() => undefined);
  return marker !== undefined;
}

/**
 * Finds the place of a node, or of a group above it, whose conversion in place is not
 * finished. Only file stores have such places.
 */
export async function findInPlace(
  { store, root }: Place,
  options: StoreOptions,
): Promise<Place | undefined> {
  if (rootOf(store) === undefined) return undefined;
  for (let at = root;; at = at.slice(0, at.lastIndexOf("/")) as Place["root"]) {
    const place = { store, root: at };
    if ((await readMarker(place, options))?.inPlace) return place;
    if (at === "") return undefined;
  }
}

/** An error about a node that is being converted in place. */
export function inPlaceError(place: Place, cause?: unknown): Error {
  return new Error(
    `A conversion of ${
      describePlace(place)
    } in place is unfinished, or another program is at work on it; finish it first, by convertInPlace or ${
      inPlaceCommand(place)
    }`,
    cause === undefined ? {} : { cause },
  );
}

/** The command that finishes a conversion in place. */
export function inPlaceCommand({ store, root }: Place): string {
  const folder = rootOf(store)?.root.path.replace(/[\\/]+$/, "");
  return `zarr-parts convert --in-place${
    folder === undefined ? "" : ` ${quoted(folder + root)}`
  }`;
}

/** A path as a word of a shell command. */
function quoted(path: string): string {
  return /^[\w./:\\@%+=-]+$/.test(path)
    ? path
    : `'${path.replaceAll("'", "'\\''")}'`;
}

/** Stores a marker in place of any other; `undefined` removes it. */
export async function setMarker(
  { store, root }: Place,
  marker: UnfinishedMarker | undefined,
  options: StoreOptions,
): Promise<void> {
  const key = markerKey(root);
  if (marker === undefined) await remove(store, key, options);
  else await write(store, key, encodeMarker(marker), options);
}

/** Stores a marker, and returns `false` if there is one already. */
export async function createMarker(
  { store, root }: Place,
  marker: UnfinishedMarker,
  options: StoreOptions,
): Promise<boolean> {
  return await writeNew(store, markerKey(root), encodeMarker(marker), options);
}

/** Throws if another run has replaced the marker of a run. */
export async function assertStillMarked(
  place: Place,
  { run }: UnfinishedMarker,
  options: StoreOptions,
): Promise<void> {
  const found = await readMarker(place, options);
  if (found?.run === run) return;
  throw new Error(
    `Another program converts to ${
      describePlace(place)
    } now; expected the file ${
      describe(markerKey(place.root))
    } of this one, and stopped`,
  );
}

/** The key of a marker in its store. */
export function markerKey(root: string): StoreKey {
  return `${root as StoreKey}${MARKER}`;
}

/** The bytes of a marker. */
function encodeMarker(marker: UnfinishedMarker): Uint8Array {
  return new TextEncoder().encode(`${JSON.stringify(marker, null, 2)}\n`);
}
