/** Stands in for the functions of `@std/fs` that this project uses, without JSR. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** What {@linkcode walk} finds. */
export interface WalkEntry extends Deno.DirEntry {
  path: string;
}

/** Yields what is in a folder and below it, and the folder itself unless folders are left out. Links are not followed. */
export async function* walk(
  root: string | URL,
  options: { includeDirs?: boolean; exts?: string[] } = {},
): AsyncIterableIterator<WalkEntry> {
  const { includeDirs = true, exts } = options;
  const path = pathOf(root);
  const isIncluded = (path: string) =>
    exts?.some((ext) => path.endsWith(ext)) ?? true;
  if (includeDirs && isIncluded(path)) {
    const { isFile, isDirectory, isSymlink } = await Deno.stat(path);
    const name = join(path).split(/[/\\]/).at(-1)!;
    yield { path, name, isFile, isDirectory, isSymlink };
  }
  for await (const entry of Deno.readDir(path)) {
    const below = join(path, entry.name);
    if (entry.isDirectory) yield* walk(below, options);
    else if (isIncluded(below)) yield { path: below, ...entry };
  }
}

/** Removes all that is in a folder, which is created if there is none. */
export async function emptyDir(path: string | URL): Promise<void> {
  const folder = pathOf(path);
  try {
    for await (const { name } of Deno.readDir(folder)) {
      await Deno.remove(join(folder, name), { recursive: true });
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    await Deno.mkdir(folder, { recursive: true });
  }
}

/** Creates a folder and those above it, as far as they are missing. */
export async function ensureDir(path: string | URL): Promise<void> {
  try {
    await Deno.mkdir(path, { recursive: true });
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
    throw new Error(
      "Failed to ensure directory exists: expected 'dir', got 'file'",
    );
  }
}

/** Returns whether there is something at a path, a link to nothing left out. */
export async function exists(path: string | URL): Promise<boolean> {
  try {
    await Deno.stat(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** Copies a file, or a folder with all that is in it. What exists at the target is an error. */
export async function copy(
  from: string | URL,
  to: string | URL,
): Promise<void> {
  if (await exists(to)) {
    throw new Deno.errors.AlreadyExists(`'${pathOf(to)}' already exists.`);
  }
  const { isDirectory } = await Deno.stat(from);
  if (!isDirectory) return await Deno.copyFile(from, to);
  await Deno.mkdir(to, { recursive: true });
  for await (const entry of Deno.readDir(from)) {
    const [one, other] = [from, to].map((path) =>
      join(pathOf(path), entry.name)
    ) as [string, string];
    if (entry.isSymlink) await Deno.symlink(await Deno.readLink(one), other);
    else await copy(one, other);
  }
}

function pathOf(path: string | URL): string {
  return path instanceof URL ? fileURLToPath(path) : path;
}
