import { command } from "./command.ts";

/** Where files are measured. */
export interface Folder {
  readonly path: string;
  /** What is said of it. */
  readonly description: string;
  /** Whether writing goes on after a file is closed. */
  readonly isDisk: boolean;
}

const MEMORY = "/dev/shm";
/** By which folders are known that were left behind. */
const PREFIX = "zarr-parts-bench-";

/**
 * New folders on a memory file system, where there is one, and on disk.
 *
 * @param disk Where the one on disk is made; if not given, where temporary files
 * are or, if that is in memory too, in the working directory.
 */
export async function makeFolders(disk: string | undefined): Promise<Folder[]> {
  const folders: Folder[] = [];
  if (await fileSystemOf(MEMORY) === "tmpfs") {
    const path = await Deno.makeTempDir({ dir: MEMORY, prefix: PREFIX });
    const description = `${MEMORY}, a file system in memory`;
    folders.push({ path, description, isDisk: false });
  } else {
    console.log(`${MEMORY} is no file system in memory here: not measured\n`);
  }
  folders.push(await makeDiskFolder(disk));
  return folders;
}

/** A new folder on disk, see {@linkcode makeFolders}. */
export async function makeDiskFolder(
  disk: string | undefined,
): Promise<Folder> {
  let path = await Deno.makeTempDir({
    prefix: PREFIX,
    ...disk === undefined ? {} : { dir: disk },
  });
  if (disk === undefined && await fileSystemOf(path) === "tmpfs") {
    await Deno.remove(path);
    path = await Deno.makeTempDir({ dir: ".", prefix: PREFIX });
  }
  const type = await fileSystemOf(path) ?? "unknown";
  return {
    path,
    description: `on disk, file system ${type}, page cache warm`,
    isDisk: true,
  };
}

/** How many bytes a folder's file system has room for; `undefined` where nobody tells. */
export async function freeSpace(path: string): Promise<number | undefined> {
  const kibibytes = await column(path, 3);
  return kibibytes === undefined ? undefined : Number(kibibytes) * 1024;
}

/** Such as `ext4`; `undefined` where nobody tells. */
async function fileSystemOf(path: string): Promise<string | undefined> {
  if (Deno.build.os !== "linux") return undefined;
  return await column(path, 1, ["-T"]);
}

/** A column of what `df` says of a path. */
async function column(
  path: string,
  index: number,
  options: readonly string[] = [],
): Promise<string | undefined> {
  try {
    const table = await command("df", ["-P", "-k", ...options, path]);
    return table.split("\n").at(-1)?.split(/\s+/)[index];
  } catch {
    return undefined; // No such path, or no `df`.
  }
}
