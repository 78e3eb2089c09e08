import { isInShare, type Share } from "../arrays/share.ts";
import type { StoreKey } from "../stores/store.ts";

/** A file that is read, and whether it belongs to the share. */
export type SharedFile<T> = T & { readonly isOwn: boolean };

/**
 * Selects the files of a share, and a few others that show the shape of the array: along
 * each dimension the first file before the end, and the first one at the end.
 *
 * @param share All files are selected without one. `undefined` in a run that finishes the
 * work of shares selects no own files.
 */
export function filesOfShare<
  T extends { key: StoreKey; coordinates?: readonly number[] },
>(
  files: readonly T[],
  { share, finish = false }: {
    share?: Share | undefined;
    finish?: boolean | undefined;
  },
): SharedFile<T>[] {
  if (share === undefined && !finish) {
    return files.map((file) => ({ ...file, isOwn: true }));
  }
  const shown = new Set(references(files));
  return files.flatMap((file) => {
    const isOwn = share !== undefined && isInShare(share, file.key);
    return isOwn || shown.has(file) ? [{ ...file, isOwn }] : [];
  });
}

function references<T extends { coordinates?: readonly number[] }>(
  files: readonly T[],
): T[] {
  const rank = files[0]?.coordinates?.length;
  // The only zip may have no coordinates.
  if (rank === undefined) return files.slice(0, 1);
  return Array.from({ length: rank }, (_, dimension) => {
    const placeOf = ({ coordinates }: T) => coordinates?.[dimension] ?? 0;
    const last = files.reduce((most, file) => Math.max(most, placeOf(file)), 0);
    return [
      files.find((file) => placeOf(file) < last),
      files.find((file) => placeOf(file) === last),
    ];
  }).flat().filter((file) => file !== undefined);
}
