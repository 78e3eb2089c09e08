import type { FolderKey } from "../../stores/file_system/file_changes.ts";
import type { StoreKey } from "../../stores/store.ts";
import { folderOf, type InPlaceRun, type RecordedChunk } from "./run.ts";
import { hiddenKey, type InPlaceState, stagedFolder } from "./state.ts";
import { markerKey } from "../plan/unfinished_marker.ts";

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
