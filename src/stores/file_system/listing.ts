import { ifPresent } from "./absence.ts";
import { isTemporary, splitPath } from "./path.ts";
import type { FileSystemRoot } from "./root.ts";
import type { StoreKey, StoreOptions } from "../store.ts";
import { keyProblem } from "../store_key.ts";

/** Lists the keys of the files below a root, from the deepest folder that the prefix names. */
export async function* listFiles(
  root: FileSystemRoot,
  prefix: StoreKey,
  options: StoreOptions,
): AsyncIterable<StoreKey> {
  options.signal?.throwIfAborted();
  await root.assertFolder();
  const { folder } = splitPath(prefix);
  const path = await root.follow(folder);
  if (path !== undefined) yield* walk(path, folder);

  async function* walk(
    path: string,
    folder: string,
  ): AsyncIterable<StoreKey> {
    options.signal?.throwIfAborted();
    const entries = await ifPresent(() => Array.fromAsync(Deno.readDir(path)));
    for (const { name, isDirectory, isFile } of entries ?? []) {
      const key: StoreKey = `${folder as StoreKey}/${name}`;
      if (!key.startsWith(prefix) || isTemporary(name)) continue;
      if (keyProblem(name) !== undefined) continue;
      if (isDirectory) {
        yield* walk(`${path}/${name}`, key);
      } else if (isFile || await root.find(key).catch(() => undefined)) {
        yield key;
      }
      options.signal?.throwIfAborted();
    }
  }
}
