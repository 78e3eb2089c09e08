import { assertShare, type Share } from "../arrays/share.ts";
import type { StoreOptions } from "../stores/store.ts";

/**
 * Options of all functions that adopt files.
 *
 * @example The second of four shares of the files
 * ```ts
 * import type { AdoptionOptions } from "@zarr-parts/zarr-parts/tiff";
 *
 * const options: AdoptionOptions = {
 *   share: { index: 1, count: 4 },
 *   onProgress: ({ done, total }) => console.error(`${done} of ${total}`),
 * };
 * ```
 */
export interface AdoptionOptions extends StoreOptions {
  /** Whether a file whose key is not that of its chunk gets that key, too, by a hard link. Defaults to `false`. */
  readonly link?: boolean | undefined;
  /**
   * Whether existing indexes and metadata are replaced. Defaults to `false`. Indexes that
   * are right, as an adoption that was killed leaves them, are no hindrance either way.
   */
  readonly overwrite?: boolean | undefined;
  /** Whether nothing is written: the report then says what would be adopted. */
  readonly dryRun?: boolean | undefined;
  /**
   * Writes the indexes of one share of the files, and leaves out the metadata. Programs
   * with all shares may run at the same time or one after another, and each may run
   * again. `finish` comes last.
   */
  readonly share?: Share | undefined;
  /** Whether only the metadata is written, after checking that all files have their indexes. */
  readonly finish?: boolean | undefined;
  /**
   * Called after each file that is read, and after each index that is written or checked.
   *
   * @param progress The number of these steps that are done, and of all steps.
   */
  readonly onProgress?:
    | ((progress: { readonly done: number; readonly total: number }) => void)
    | undefined;
}

/** For each option: what it must be, and whether a value is that. */
export const ADOPTION_OPTIONS: Readonly<
  Record<keyof AdoptionOptions, readonly [string, (value: unknown) => boolean]>
> = {
  link: isBoolean(),
  overwrite: isBoolean(),
  dryRun: isBoolean(),
  share: ["a share of the files", isObject],
  finish: isBoolean(),
  onProgress: ["a function", (value) => typeof value === "function"],
  signal: ["an AbortSignal", isObject],
};

/** Refuses options that are out of range or contradict each other. */
export function assertAdoption({ share, finish }: AdoptionOptions): void {
  assertShare(share);
  if (share === undefined || !finish) return;
  throw new TypeError(
    'Expected one of the options "share" and "finish", found both',
  );
}

export function isBoolean(): [string, (value: unknown) => boolean] {
  return ["true or false", (value) => typeof value === "boolean"];
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}
