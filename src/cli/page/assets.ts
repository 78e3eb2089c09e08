import { ZARRITA } from "../shared_options.ts";
import style from "./page.css" with { type: "text" };
import script from "./script.js" with { type: "text" };

/**
 * The path of the files of pages, below that of the store. No node of Zarr v3 has a name
 * that starts with two underscores.
 */
export const ASSETS = "/__page__/";

/** The modules of npm packages that pages run, by the names that scripts import. */
export const MODULES: ReadonlyMap<string, string> = new Map([
  ["zarrita", ZARRITA],
  ["@zarrita/storage/fetch", "npm:@zarrita/storage@0.2.0/fetch"],
  ["numcodecs/blosc", "npm:numcodecs@0.3.2/blosc"],
  ["numcodecs/lz4", "npm:numcodecs@0.3.2/lz4"],
  ["numcodecs/zstd", "npm:numcodecs@0.3.2/zstd"],
]);

/**
 * The import map of pages.
 *
 * @param folder The URL or path below which modules are served, with a last `/`.
 */
export function importMap(folder: string): string {
  const imports: Record<string, string> = {};
  for (const name of MODULES.keys()) {
    imports[name] = `${folder}${encodeURIComponent(name)}/`;
  }
  return JSON.stringify({ imports });
}

const JAVASCRIPT = "text/javascript; charset=utf-8";

const FILES: ReadonlyMap<string, { text: string; type: string }> = new Map([
  ["page.css", { text: style, type: "text/css; charset=utf-8" }],
  ["script.js", { text: script, type: JAVASCRIPT }],
]);

/** Answers a request for a file of the pages, by its path below {@linkcode ASSETS}. */
export async function answerAsset(path: string): Promise<Response> {
  const known = FILES.get(path);
  if (known !== undefined) return fileOf(known.text, known.type);
  const text = path.startsWith("modules/")
    ? await moduleText(path.slice("modules/".length))
    : undefined;
  return text === undefined
    ? new Response("Not a file of the pages\n", { status: 404 })
    : fileOf(text, JAVASCRIPT);
}

function fileOf(text: string, type: string): Response {
  return new Response(text, {
    headers: {
      "Content-Length": `${new TextEncoder().encode(text).length}`,
      "Content-Type": type,
      "Cache-Control": "max-age=3600",
      "X-Content-Type-Options": "nosniff",
    },
  });
}

/** The paths of modules in a package: plain names, none of which leads to a folder above. */
const MODULE = /^(?:(?:[\w-][\w.-]{0,99}\/){0,9}[\w-][\w.-]{0,99}\.js)?$/;

/**
 * Reads a module of an installed npm package, and installs the package if need be.
 *
 * @param path The encoded name of a module, `/`, and the path of another module relative
 * to it; an empty path for the module itself.
 */
async function moduleText(path: string): Promise<string | undefined> {
  const [, encoded, relative] = /^([^/]+)\/(.*)$/.exec(path) ?? [];
  const name = MODULES.keys().find((name) =>
    encodeURIComponent(name) === encoded
  );
  if (name === undefined || !MODULE.test(relative!)) return undefined;
  const specifier = MODULES.get(name)!;
  // Deno downloads a package when a module of it is imported, unless it is there.
  await import(specifier);
  const entry = new URL(import.meta.resolve(specifier));
  try {
    return await Deno.readTextFile(
      relative === "" ? entry : new URL(relative!, entry),
    );
  } catch (error) {
    // A path may go on behind the name of a file: `util.js/x.js`.
    if (
      error instanceof Deno.errors.NotFound ||
      error instanceof Deno.errors.NotADirectory
    ) return undefined;
    throw error;
  }
}
