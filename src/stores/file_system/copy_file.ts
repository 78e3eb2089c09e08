import type { ByteWriter, StoreKey, StoreOptions } from "../store.ts";
import { rootOf } from "./root.ts";
import { FileValueWriter } from "./value.ts";
import { fileSystem } from "./files.ts";

/** Whether {@linkcode copyFile} copies from one store to another. */
export function canCopyFiles(from: object, to: object): boolean {
  // On other systems, Deno may replace the file that it copies to, or set other attributes.
  return rootOf(from) !== undefined && rootOf(to) !== undefined &&
    fileSystem().build.os === "linux";
}

/**
 * Has the operating system copy the first bytes of a file to the start of a new value,
 * which takes half of the time of reading and writing.
 *
 * @param from The store and the key of the file, and its length in bytes.
 * @param writer The writer of a value to which nothing was written.
 * @param length The number of bytes to copy, up to that length.
 * @returns Whether the bytes were copied. If not, since the file has another length or is
 * behind a link, the value must be given up.
 */
export async function copyFile(
  { store, key, size }: {
    readonly store: object;
    readonly key: StoreKey;
    readonly size: number;
  },
  writer: ByteWriter,
  length: number,
  options: StoreOptions,
): Promise<boolean> {
  const file = await rootOf(store)?.root.find(key, options);
  if (file?.state.size !== size || file.leadsTo !== undefined) return false;
  return writer instanceof FileValueWriter &&
    await writer.copy(file.path, size, length);
}

/**
 * Returns a text by which the file of a key differs from its later versions; `undefined` if
 * there is no file, or the store is not a file store.
 */
export async function fileStamp(
  store: object,
  key: StoreKey,
  options: StoreOptions,
): Promise<string | undefined> {
  const state = await rootOf(store)?.root.state(key, options);
  return state && `${state.dev} ${state.ino} ${state.mtime} ${state.size}`;
}
