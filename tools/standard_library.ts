import { fileURLToPath } from "node:url";
import config from "../deno.json" with { type: "json" };
import map from "./offline/import_map.json" with { type: "json" };
import { deno, type DenoOptions } from "./deno.ts";

/** How long a network may keep silent before JSR counts as out of reach. */
const PATIENCE_MS = 10_000;

/** A package of the standard library that deno.json imports. */
export interface StandardPackage {
  /** Such as `@std/fs`. */
  readonly name: string;
  /** Such as `1.0.24`. */
  readonly version: string;
  /** What stands in, by entry point: for `./ensure-dir` the module `./std_fs.ts` in tools/offline. */
  readonly standIns: Readonly<Record<string, string>>;
}

/** The standard library as deno.json names it, and what stands in for it. */
export function standardPackages(): StandardPackage[] {
  return Object.entries(config.imports).flatMap(([name, specifier]) => {
    const prefix = `jsr:${name}@`;
    if (!specifier.startsWith(prefix)) return [];
    const standIns = Object.entries(map.imports)
      .filter(([key]) => key === name || key.startsWith(`${name}/`))
      .map(([key, module]) => [`.${key.slice(name.length)}`, module]);
    return {
      name,
      version: specifier.slice(prefix.length),
      standIns: Object.fromEntries(standIns),
    };
  });
}

/** Where the standard library comes from, and what runs Deno with it. */
export interface StandardLibrary {
  readonly fromJsr: boolean;
  readonly run: typeof deno;
}

/** Finds out whether JSR can be reached, and says in one line what follows. */
export async function chooseStandardLibrary(): Promise<StandardLibrary> {
  const fromJsr = await resolvesFromJsr();
  console.error(
    `Standard library: ${
      fromJsr ? "from JSR" : "stand-ins in tools/offline, JSR is out of reach"
    }`,
  );
  return { fromJsr, run: fromJsr ? deno : denoWithStandIns };
}

/** Whether JSR serves the standard library, or did so once and it is cached. */
async function resolvesFromJsr(): Promise<boolean> {
  const specifiers = standardPackages().flatMap(({ name, version, standIns }) =>
    Object.keys(standIns).map((path) =>
      `jsr:${name}@${version}${path.slice(1)}`
    )
  );
  const { code } = await deno(
    ["cache", "--no-config", "--no-lock", ...specifiers],
    { output: "piped", signal: AbortSignal.timeout(PATIENCE_MS) },
  );
  return code === 0;
}

/** The subcommands that this project uses and that take an import map. */
const RESOLVING = ["bundle", "check", "doc", "run", "serve", "test"];

/** Runs Deno with the stand-ins, and so that it never waits for JSR. */
export async function denoWithStandIns(
  [subcommand = "", ...args]: readonly string[],
  options: DenoOptions,
): ReturnType<typeof deno> {
  const path = new URL("./offline/import_map.json", import.meta.url);
  const map = RESOLVING.includes(subcommand)
    ? ["--import-map", fileURLToPath(path)]
    : [];
  return await deno([subcommand, ...map, ...args], {
    ...options,
    env: { ...options.env, JSR_URL: "http://localhost:0" },
  });
}
