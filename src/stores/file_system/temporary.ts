import { isAbsence } from "./absence.ts";
import type { Files, OpenFile } from "./files.ts";
import { splitPath } from "../key_path.ts";
import { temporaryPath } from "../temporary_name.ts";

/** A new file under a temporary name, which is locked as long as it is open. */
export interface Temporary {
  readonly path: string;
  readonly file: OpenFile;
}

/**
 * Creates a temporary file. The lock tells `recover` that the writer of the file is
 * alive. If `recover` locks the file first, it removes the file, and another one is
 * created.
 */
export async function createTemporary(
  files: Files,
  folder: string,
): Promise<Temporary> {
  while (true) {
    const path = temporaryPath(folder);
    const temporary = await lock(files, path, await files.create(path));
    if (temporary !== undefined) return temporary;
  }
}

/** Locks a new file; `undefined` if `recover` was faster. */
async function lock(
  files: Files,
  path: string,
  file: OpenFile,
): Promise<Temporary | undefined> {
  try {
    // The name is new, so that no other file can have it.
    if (await file.tryLock() && await files.stat(path) !== undefined) {
      return { path, file };
    }
  } catch (error) {
    await file.close();
    await files.remove(path);
    throw error;
  }
  await file.close();
  await files.remove(path); // A dry run of `recover` removes no files.
}

/**
 * Replaces a temporary file by a copy of another file. The copy is a new file, since ext4
 * starts to write a file to the disk at once if it was emptied before.
 *
 * @returns The copy; `undefined` if files cannot be copied, if the other file is absent, or
 * if `recover` has removed the copy, which is not locked before it is complete. The
 * temporary file is still there then.
 */
export async function copyTemporary(
  files: Files,
  temporary: Temporary,
  from: string,
): Promise<Temporary | undefined> {
  if (files.copy === undefined) return undefined;
  const path = temporaryPath(splitPath(temporary.path).folder);
  try {
    await files.copy(from, path, temporary.path);
    const copy = await lock(files, path, await files.openOrCreate(path));
    if (copy !== undefined) await discardTemporary(files, temporary);
    return copy;
  } catch (error) {
    await files.remove(path);
    if (isAbsence(error)) return undefined;
    throw error;
  }
}

/** Closes and removes a temporary file. No error if it was renamed or removed. */
export async function discardTemporary(
  files: Files,
  { path, file }: Temporary,
): Promise<void> {
  try {
    await files.remove(path);
  } catch {
    // `recover` removes the file once it is closed.
  }
  await file.close();
}
