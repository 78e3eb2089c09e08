/** Folders in memory and on disk, and programs that work on them. */

/** A folder in which files are measured. */
export interface Folder {
  readonly path: string;
  /** The place of the folder, such as `on disk (ext4), page cache warm`. */
  readonly description: string;
  /** Whether data is still being written after a file is closed. */
  readonly isDisk: boolean;
}

const MEMORY = "/dev/shm";
/** The names of all folders begin so, to find folders that a killed run left. */
const PREFIX = "zarr-parts-bench-";

/**
 * Makes a folder in memory, if `/dev/shm` is a file system in memory, and one on
 * disk.
 *
 * @param disk The parent of the folder on disk; if not given, the folder of
 * temporary files or, if that is in memory too, the working directory.
 */
export async function makeFolders(disk: string | undefined): Promise<Folder[]> {
  const folders: Folder[] = [];
  if (await fileSystemOf(MEMORY) === "tmpfs") {
    const path = await Deno.makeTempDir({ dir: MEMORY, prefix: PREFIX });
    const description = `in memory (${MEMORY})`;
    folders.push({ path, description, isDisk: false });
  } else {
    console.log(`${MEMORY} is not a file system in memory: not measured\n`);
  }
  folders.push(await makeDiskFolder(disk));
  return folders;
}

/** Removes the folders and all files in them. */
export async function removeFolders(folders: readonly Folder[]): Promise<void> {
  for (const { path } of folders) await Deno.remove(path, { recursive: true });
}

async function makeDiskFolder(disk: string | undefined): Promise<Folder> {
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
    description: `on disk (${type}), page cache warm`,
    isDisk: true,
  };
}

/** The free space of a folder's file system in bytes; `undefined` if `df` does not tell. */
export async function freeSpace(path: string): Promise<number | undefined> {
  const kibibytes = await column(path, 3);
  return kibibytes === undefined ? undefined : Number(kibibytes) * 1024;
}

/** The type of a file system, such as `ext4`; `undefined` if `df` does not tell. */
async function fileSystemOf(path: string): Promise<string | undefined> {
  if (Deno.build.os !== "linux") return undefined;
  return await column(path, 1, ["-T"]);
}

/** One column of the output of `df` for a path. */
async function column(
  path: string,
  index: number,
  options: readonly string[] = [],
): Promise<string | undefined> {
  try {
    const table = await command("df", ["-P", "-k", ...options, path]);
    return table.split("\n").at(-1)?.split(/\s+/)[index];
  } catch {
    return undefined; // The path or `df` does not exist.
  }
}

/** Waits until the data that earlier runs left to be written is on the disk, since it would slow the next run. */
export async function settle({ isDisk }: Folder): Promise<void> {
  if (isDisk) await command("sync", []);
}

/** Runs a program, and returns its output. */
export async function command(
  name: string,
  args: readonly string[],
  cwd?: string,
): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(name, {
    args: [...args],
    ...cwd === undefined ? {} : { cwd },
  }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes).trim();
  if (success) return text(stdout);
  throw new Error(`${name} ${args.join(" ")} failed: ${text(stderr)}`);
}

/** Such as `Load average 0.50 on 2 cores.` */
export function loadText(): string {
  return `Load average ${
    Deno.loadavg()[0]!.toFixed(2)
  } on ${navigator.hardwareConcurrency} cores.`;
}
