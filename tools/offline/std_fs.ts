/** Stands in for the functions of `@std/fs` that this project uses, without JSR. */
export async function ensureDir(path: string | URL): Promise<void> {
  const info = await stat(path) ?? await create(path);
  if (info?.isDirectory === false) {
    throw new Error(
      "Failed to ensure directory exists: expected 'dir', got 'file'",
    );
  }
}

/** Creates a folder; returns what exists there instead, if another process was faster. */
async function create(path: string | URL): Promise<Deno.FileInfo | undefined> {
  try {
    await Deno.mkdir(path, { recursive: true });
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
    return await Deno.stat(path);
  }
}

async function stat(path: string | URL): Promise<Deno.FileInfo | undefined> {
  try {
    return await Deno.stat(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}
