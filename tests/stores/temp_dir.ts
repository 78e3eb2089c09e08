/** Runs a test with a folder of its own, and returns what it returns. */
export async function inTempDir<T>(
  run: (folder: string) => Promise<T>,
): Promise<T> {
  const folder = await Deno.makeTempDir();
  try {
    return await run(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** The names of everything in a folder, sorted. */
export async function filesIn(folder: string): Promise<string[]> {
  const entries = await Array.fromAsync(Deno.readDir(folder));
  return entries.map(({ name }) => name).sort();
}

export async function present(path: string): Promise<boolean> {
  try {
    await Deno.lstat(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** Runs a test with another function in the place of one of Deno's. */
export async function replaced<
  Name extends
    | "copyFile"
    | "openSync"
    | "readDir"
    | "realPathSync"
    | "renameSync",
>(
  name: Name,
  replacement: typeof Deno[Name],
  run: () => Promise<unknown>,
): Promise<void> {
  const original = Deno[name];
  Deno[name] = replacement;
  try {
    await run();
  } finally {
    Deno[name] = original;
  }
}
