import { fileURLToPath } from "node:url";
import config from "../deno.json" with { type: "json" };
import map from "./offline/import_map.json" with { type: "json" };
import { deno, type DenoOptions } from "./deno.ts";

/** The time after which JSR counts as out of reach. */
const TIMEOUT_MS = 10_000;

/** A package of the standard library that deno.json imports. */
export interface StandardPackage {
  /** Such as `@std/fs`. */
  readonly name: string;
  /** Such as `1.0.24`. */
  readonly version: string;
  /** The modules in `tools/offline` that stand in, by entry point: `./std_fs.ts` for `./ensure-dir`. */
  readonly standIns: Readonly<Record<string, string>>;
}

/** Returns the packages of the standard library in deno.json, and their stand-ins. */
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

/** The source of the standard library, and a function that runs Deno with it. */
export interface StandardLibrary {
  readonly fromJsr: boolean;
  readonly run: typeof deno;
}

let chosen: Promise<StandardLibrary> | undefined;

/** Checks once whether JSR can be reached, and prints which standard library is used. */
export function chooseStandardLibrary(): Promise<StandardLibrary> {
  return chosen ??= choose();
}

async function choose(): Promise<StandardLibrary> {
  const fromJsr = await resolvesFromJsr();
  console.error(
    `Standard library: ${
      fromJsr ? "from JSR" : "stand-ins in tools/offline, JSR is out of reach"
    }`,
  );
  return { fromJsr, run: fromJsr ? deno : denoWithStandIns };
}

/** Returns whether Deno can load the standard library from JSR or from its cache. */
async function resolvesFromJsr(): Promise<boolean> {
  const specifiers = standardPackages().flatMap(({ name, version, standIns }) =>
    Object.keys(standIns).map((path) =>
      `jsr:${name}@${version}${path.slice(1)}`
    )
  );
  const { code } = await deno(
    ["cache", "--no-config", "--no-lock", ...specifiers],
    { output: "piped", signal: AbortSignal.timeout(TIMEOUT_MS) },
  );
  return code === 0;
}

/** The subcommands that take an import map, of those that this project uses. */
const RESOLVING = ["bundle", "check", "doc", "run", "serve", "test"];

/** Runs Deno with the stand-ins, without requests to JSR. */
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
