/** The package for npm, and programs that run with it in a folder. */
import { assertEquals } from "@std/assert";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { NODE, printed } from "../runtimes/programs.ts";
import { findOnPath, type Tool } from "../support/tools.ts";

export const at = (path: string): string =>
  fileURLToPath(import.meta.resolve(path));
export const ARRAY: string = at("../fixtures/dem.zarr");

/** npm beside Node. */
export const NPM: Tool =
  await findOnPath(["npm"]) !== undefined && "path" in NODE
    ? NODE
    : { missing: "Node 20 or later and npm are needed on PATH" };

export interface Output {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program in a folder, with no Deno on PATH. */
export async function runIn(
  cwd: string,
  program: string,
  args: readonly string[],
): Promise<Output> {
  const path = Deno.env.get("PATH")!.split(":")
    .filter((folder) => folder !== dirname(Deno.execPath()))
    .join(":");
  const { code, stdout, stderr } = await new Deno.Command(program, {
    args: [...args],
    cwd,
    env: { PATH: path },
  }).output();
  const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, stdout: decode(stdout), stderr: decode(stderr) };
}

export async function succeed(
  cwd: string,
  program: string,
  ...args: readonly string[]
): Promise<string> {
  const { code, stdout, stderr } = await runIn(cwd, program, args);
  assertEquals(code, 0, `${program} ${args.join(" ")}: ${stdout}${stderr}`);
  return stdout;
}

/** Builds the package in a folder, and returns the path of the tarball. */
export async function pack(folder: string): Promise<string> {
  const path = await printed(Deno.execPath(), [
    ...["run", "-A", at("../../tools/run.ts")],
    ...["run", "-A", at("../../tools/npm/build_package.ts"), folder],
  ]);
  return path.trim().split("\n").at(-1)!;
}

/** npm, with a registry that tells which version is the newest. */
export const REGISTRY: Tool = "missing" in NPM ? NPM : await findRegistry();

async function findRegistry(): Promise<Tool> {
  const { code } = await runIn(".", "npm", [
    ...["view", "webpack", "version"],
    ...["--fetch-retries=0", "--fetch-timeout=10000"],
  ]);
  return code === 0
    ? NPM
    : { missing: "the registry of npm, which has the newest tools" };
}

/**
 * Builds the package, and installs it with other packages into a folder.
 *
 * @param options.name The name that the package gets in the folder.
 * @returns The path of the tarball.
 */
export async function install(
  folder: string,
  packages: readonly string[],
  { name = "zarr-parts" } = {},
): Promise<string> {
  const tarball = await pack(folder);
  await Deno.writeTextFile(
    join(folder, "package.json"),
    '{ "type": "module", "private": true }',
  );
  await succeed(
    folder,
    "npm",
    ...["install", "--no-audit", "--no-fund"],
    ...[`${name}@file:${tarball}`, ...packages],
  );
  return tarball;
}
