import type { Files, OpenFile } from "./files.ts";
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
    const file = await files.create(path);
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
