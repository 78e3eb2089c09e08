import { ifPresent } from "./absence.ts";
import { below } from "./linked_folders.ts";
import { isTemporary } from "../temporary_name.ts";
import { splitPath } from "../key_path.ts";
import type { FileSystemRoot } from "./root.ts";
import type { StoreKey, StoreOptions } from "../store.ts";
import { keyProblem } from "../store_key.ts";

/**
 * Lists the keys of the files below a root, from the deepest folder that the prefix
 * names. Linked folders outside of the root are walked, if they may be read.
 */
export async function* listFiles(
  root: FileSystemRoot,
  prefix: StoreKey,
  options: StoreOptions,
): AsyncIterable<StoreKey> {
  options.signal?.throwIfAborted();
  await root.assertFolder();
  const { folder } = splitPath(prefix);
  const path = await root.locate(folder);
  if (path !== undefined) yield* walk(path, folder, []);

  /** @param from The real paths of the folders whose links led here. */
  async function* walk(
    path: string,
    folder: string,
    from: readonly string[],
  ): AsyncIterable<StoreKey> {
    options.signal?.throwIfAborted();
    const entries = await ifPresent(() => Array.fromAsync(Deno.readDir(path)));
    for (const { name, isDirectory, isFile } of entries ?? []) {
      const key: StoreKey = `${folder as StoreKey}/${name}`;
      if (!key.startsWith(prefix) || isTemporary(name)) continue;
      if (keyProblem(name) !== undefined) continue;
      if (isDirectory) {
        yield* walk(`${path}/${name}`, key, from);
      } else if (isFile || await root.find(key).catch(() => undefined)) {
        yield key;
      } else {
        const linked = await root.linkedFolder(key);
        if (linked !== undefined) yield* walkLinked(path, linked, key, from);
      }
      options.signal?.throwIfAborted();
    }
  }

  /** Walks a linked folder, unless the link leads back to a folder that is being walked. */
  async function* walkLinked(
    path: string,
    linked: string,
    key: StoreKey,
    from: readonly string[],
  ): AsyncIterable<StoreKey> {
    const here = [...from, await Deno.realPath(path)];
    const target = await Deno.realPath(linked);
    const isCircle = here.some((folder) => below(target, folder) !== undefined);
    if (!isCircle) yield* walk(linked, key, here);
  }
}
