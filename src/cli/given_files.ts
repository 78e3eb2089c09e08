import { join, resolve } from "node:path";
import { UsageError } from "./command.ts";

/** The formats of files, by the ends of their names. */
const FORMATS = [
  { format: "zip", extension: /\.zip$/i },
  { format: "tiff", extension: /\.(?:tiff?|btf|tf8)$/i },
] as const;

/**
 * Lists the files of given paths.
 *
 * @param given Paths of files and folders.
 * @param template The format of names, whose extension selects the files of folders.
 * @returns The paths of given files, and the sorted paths of files in given folders.
 */
export async function listFiles(
  given: readonly string[],
  template: string | undefined,
): Promise<{ paths: string[]; found: string[] }> {
  const [paths, found]: [string[], string[]] = [[], []];
  const extension = /\.[^.{}/]*$/.exec(template ?? "")?.[0];
  const isOfFormat = (name: string) =>
    extension === undefined
      ? FORMATS.some(({ extension }) => extension.test(name))
      : name.endsWith(extension);
  async function walk(folder: string): Promise<void> {
    for await (const { name, isDirectory } of Deno.readDir(folder)) {
      const path = join(folder, name);
      if (isDirectory) await walk(path);
      else if (isOfFormat(name)) found.push(path);
    }
  }
  for (const each of given) {
    const path = resolve(each);
    const info = await Deno.stat(path).catch((error) => {
      if (error instanceof Deno.errors.NotFound) return undefined;
      throw error;
    });
    if (info === undefined) {
      throw new Error(`There is no file or folder ${JSON.stringify(each)}`);
    }
    if (info.isDirectory) await walk(path);
    else paths.push(path);
  }
  return { paths, found: found.sort() };
}

/** The format of files, by their names. */
export function formatOf(paths: readonly string[]): "tiff" | "zip" {
  const isZip = (path: string) => FORMATS[0].extension.test(path);
  const zip = paths.find(isZip);
  if (zip === undefined) return "tiff";
  const other = paths.find((path) => !isZip(path));
  if (other === undefined) return "zip";
  throw new UsageError(
    `Expected files of one format, found ${JSON.stringify(zip)} and ${
      JSON.stringify(other)
    }`,
  );
}
