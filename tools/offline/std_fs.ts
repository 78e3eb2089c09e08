/** Stands in for `@std/fs` where JSR cannot be reached: what this project uses of it. */
export async function ensureDir(path: string | URL): Promise<void> {
  await Deno.mkdir(path, { recursive: true });
}
