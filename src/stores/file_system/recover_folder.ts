import type { StoreKey, StoreOptions } from "../store.ts";
import type { Recovery } from "../recover.ts";
import { ifPresent } from "./absence.ts";
import { DENO_FILES } from "./deno_files.ts";
import { journalPlace } from "./file_group.ts";
import { findLeftovers } from "./find_leftovers.ts";
import { isJournal, isTemporary } from "../temporary_name.ts";
import { type Leftover, recoverFiles } from "./recovery.ts";
import type { FileSystemRoot } from "./root.ts";

/** Recovers what killed writers left in a folder, and in all folders below it. */
export async function recoverFolder(
  root: FileSystemRoot,
  folder: string,
  { signal, isSynced, dryRun = false }: StoreOptions & {
    isSynced: boolean;
    dryRun?: boolean | undefined;
  },
): Promise<Recovery> {
  await root.assertFolder();
  const written = new Set<StoreKey>();
  const deleted = new Set<StoreKey>();
  const temporary = { files: 0, bytes: 0 };
  const folders = new Map<object, string>();

  async function* walk(folder: string): AsyncGenerator<Leftover> {
    signal?.throwIfAborted();
    const path = await root.follow(folder);
    if (path === undefined) return;
    const entries = await ifPresent(() => Array.fromAsync(Deno.readDir(path)));
    for (const { name, isDirectory, isFile } of entries ?? []) {
      if (isDirectory) yield* walk(`${folder}/${name}`);
      if (!isFile || !isTemporary(name)) continue;
      if (isJournal(name)) {
        const journal = journalPlace(root, folder, `${path}/${name}`, isSynced);
        folders.set(journal, folder);
        yield { journal };
      } else yield { temporary: `${path}/${name}` };
    }
  }

  const run = dryRun ? findLeftovers : recoverFiles;
  await run(DENO_FILES, () => walk(folder), {
    finished(journal, record) {
      const found = record.action === "delete" ? deleted : written;
      found.add(`${folders.get(journal)! as StoreKey}/${record.chunk}`);
    },
    removed(_, size) {
      temporary.files++;
      temporary.bytes += size;
    },
  }, signal);
  return { written: [...written], deleted: [...deleted], temporary };
}
