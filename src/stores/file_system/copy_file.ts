import type { ByteWriter, StoreKey, StoreOptions } from "../store.ts";
import { FileWriter } from "./change_files.ts";
import { rootOf } from "./file_changes.ts";

/** Whether {@linkcode copyFile} copies from one store to another. */
export function canCopyFiles(from: object, to: object): boolean {
  // On other systems, Deno may replace the file that it copies to, or set other attributes.
  return rootOf(from) !== undefined &&
    rootOf(to)?.system.runtime.build.os === "linux";
}

/**
 * Has the operating system copy the first bytes of a file to the start of a new value,
 * which takes half of the time of reading and writing.
 *
 * @param from The store and the key of the file, and its length in bytes.
 * @param writer The writer of a pending value to which nothing was written.
 * @param length The number of bytes to copy, up to that length.
 * @returns Whether the bytes were copied. If not, since the file has another length, the
 * value must be given up.
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
  options.signal?.throwIfAborted();
  const file = rootOf(store)?.root.find(key);
  return file?.state.size === size && writer instanceof FileWriter &&
    await writer.copy(file.path, size, length);
}

/**
 * Returns a text by which the file of a key differs from its later versions; `undefined` if
 * there is no file, or the store is not a file store. The lookup may follow links out of the
 * root.
 */
export function fileStamp(
  store: object,
  key: StoreKey,
  options: StoreOptions,
): string | undefined {
  options.signal?.throwIfAborted();
  const state = rootOf(store)?.root.state(key);
  return state && `${state.dev} ${state.ino} ${state.mtime} ${state.size}`;
}
