/** Bundles programs for browsers, with the packages of npm that they import. */
import { join } from "node:path";
import { chooseStandardLibrary } from "./standard_library.ts";

/** The files of a bundled program, by their names. The first one is the entry file. */
export type BundledFiles = ReadonlyMap<string, string>;

/** How a program is bundled. */
export interface BundleOptions {
  /** Whether what is loaded on first use has files of its own. */
  readonly splitting?: boolean;
  readonly minify?: boolean;
  /** Packages that the program imports as they are. */
  readonly external?: readonly string[];
}

/** Bundles the program of a path. */
export async function bundleFile(
  program: string,
  { splitting = false, minify = false, external = [] }: BundleOptions,
): Promise<BundledFiles> {
  const { run } = await chooseStandardLibrary();
  const folder = await Deno.makeTempDir();
  try {
    const options = [
      ...splitting ? ["--code-splitting"] : [],
      ...minify ? ["--minify"] : [],
      ...external.flatMap((name) => ["--external", name]),
    ];
    const { code, output } = await run(
      // deno-fmt-ignore
      ["bundle", "--quiet", "--platform", "browser", ...options, "--outdir", folder, program],
      { output: "piped" },
    );
    if (code !== 0) throw new Error(`Cannot bundle ${program}: ${output}`);
    const names = await Array.fromAsync(Deno.readDir(folder), (e) => e.name);
    // Bundlers name other files "chunk-…" or after the module, with a hash.
    const isOther = (name: string) => /-[A-Z0-9]{8}\.js$/.test(name);
    names.sort((a, b) => Number(isOther(a)) - Number(isOther(b)));
    const files = names.map(async (name) =>
      [name, await Deno.readTextFile(join(folder, name))] as const
    );
    return new Map(await Promise.all(files));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Bundles a program that exports names: the URLs or paths of modules by the names, such as `{ a, b }`. */
export async function bundleExports(
  modules: Readonly<Record<string, string>>,
  options: BundleOptions,
): Promise<BundledFiles> {
  const folder = await Deno.makeTempDir();
  try {
    const program = join(folder, "program.js");
    const lines = Object.entries(modules).map(([names, module]) =>
      `export ${names} from ${JSON.stringify(module)};`
    );
    await Deno.writeTextFile(program, lines.join("\n"));
    return await bundleFile(program, options);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** The files that a program loads at start: the entry file, and what it imports statically. */
export function startFiles(files: BundledFiles): string[] {
  return filesBy(files, /\b(?:from|import)\s*"\.\/([^"]+)"/g);
}

/** The files that a program may load. Bundlers also write files for imports in code that they have left out. */
export function loadedFiles(files: BundledFiles): string[] {
  return filesBy(files, /\b(?:from|import)\s*\(?\s*"\.\/([^"]+)"/g);
}

/** The entry file, and what it imports, directly or not. */
function filesBy(files: BundledFiles, imports: RegExp): string[] {
  const loaded = new Set([...files.keys()].slice(0, 1));
  for (const name of loaded) {
    for (const [, imported] of files.get(name)!.matchAll(imports)) {
      loaded.add(imported!);
    }
  }
  return Array.from(loaded, (name) => files.get(name)!);
}
