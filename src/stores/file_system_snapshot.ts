import { ifPresent } from "./file_system_absence.ts";
import { splitPath, temporaryPath } from "./file_system_path.ts";
import type { FileSystemRoot } from "./file_system_root.ts";
import { replaceValue } from "./file_system_value.ts";
import type { StoreKey, StoreOptions, StoreSnapshot } from "./store.ts";

/** Keeps the present value of a key in a temporary file, or its absence. */
export async function takeSnapshot(
  root: FileSystemRoot,
  key: StoreKey,
  options: StoreOptions,
): Promise<StoreSnapshot> {
  const value = await root.find(key, options);
  return value === undefined
    ? await absentValue(root, key)
    : await presentValue(root, key, value.path);
}

async function absentValue(
  root: FileSystemRoot,
  key: StoreKey,
): Promise<StoreSnapshot> {
  const missing = await root.missingFolders(splitPath(key).folder);
  return {
    restore: async () => {
      await root.find(key);
      await root.remove(key);
      // A value may have the key of a folder that was created meanwhile.
      for (const folder of missing) {
        await Deno.remove(folder).catch(() => {});
      }
    },
    release: () => Promise.resolve(),
  };
}

async function presentValue(
  root: FileSystemRoot,
  key: StoreKey,
  path: string,
): Promise<StoreSnapshot> {
  const kept = temporaryPath(splitPath(path).folder);
  await linkOrCopy(path, kept);
  return {
    restore: () =>
      replaceValue(root, key, {}, (value) => linkOrCopy(kept, value.path)),
    release: async () => {
      await ifPresent(() => Deno.remove(kept));
    },
  };
}

/** Makes a hard link to a file, or a copy where the file system has no hard links. */
async function linkOrCopy(from: string, to: string): Promise<void> {
  try {
    await Deno.link(from, to);
  } catch {
    try {
      await Deno.copyFile(from, to);
    } catch (error) {
      await Deno.remove(to).catch(() => {});
      throw error;
    }
  }
}
