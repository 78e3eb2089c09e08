/**
 * Builds the package for npm, from the sources and the version of the one for JSR:
 * `deno task npm` writes `zarr-parts-0.1.0.tgz` into the folder of `deno.json`, or into
 * the folder of its argument.
 *
 * `deno pack` compiles the modules, with their types and source maps. This program adds
 * what it leaves out: the name on npm, the command, and what registries show.
 *
 * Where JSR is out of reach, the command holds the stand-ins of the standard library. Such a
 * package says so, and is private, so that npm does not publish it.
 */
import { execFile } from "node:child_process";
import { ensureDir } from "@std/fs/ensure-dir";
import { walk } from "@std/fs/walk";
import { cp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import config from "../../deno.json" with { type: "json" };
import { copyWithStandIns } from "../publish_check.ts";
import {
  chooseStandardLibrary,
  type StandardLibrary,
} from "../standard_library.ts";

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** The name of the package on npm, which is that of the command. */
const NAME = "zarr-parts";

/** What a package says of itself that must not be published. */
const STAND_INS =
  "stand-ins of the standard library, as JSR was out of reach: not to be published";

/** The packages of npm that bundle the command, besides its own. */
const BUNDLER = ["rolldown@1.3.2", "eventemitter3@5.0.1"];

/** The version of Deno that runs the command. */
const DENO = "2.9.6";

/** What `deno pack` writes into `package.json`, as far as this program reads it. */
interface PackedManifest {
  readonly exports: Readonly<Record<string, unknown>>;
  readonly dependencies: Readonly<Record<string, string>>;
}

/** Builds the package in a folder, and returns the path of the folder of the package in it. */
export async function buildPackage(folder: string): Promise<string> {
  const library = await chooseStandardLibrary();
  const packed = join(folder, "packed.tgz");
  const { code, output } = await library.run(
    ["pack", "--quiet", "--allow-dirty", "-o", packed],
    {
      cwd: library.fromJsr ? ROOT : await copyWithStandIns(folder),
      output: "piped",
    },
  );
  if (code !== 0) throw new Error(`deno pack failed\n${output}`);
  if (!library.fromJsr) await rm(join(folder, "package"), { recursive: true });
  await run("tar", ["-xzf", packed, "-C", folder]);
  const root = join(folder, "package");
  await renamePackage(root);
  await ensureDir(join(root, "bin"));
  await cp(
    join(ROOT, "tools/npm/launcher.js"),
    join(root, "bin/zarr-parts.js"),
  );
  await bundleCommand(root, library);
  await removeCommand(join(root, "src/cli"));
  const manifest = JSON.parse(
    await readFile(join(root, "package.json"), "utf8"),
  ) as PackedManifest;
  await writeFile(
    join(root, "package.json"),
    JSON.stringify(
      {
        ...await completed(manifest, root),
        ...!library.fromJsr && { private: true, builtWith: STAND_INS },
      },
      null,
      2,
    ) + "\n",
  );
  return root;
}

/** Adds to the manifest of `deno pack` what npm needs. */
async function completed(
  manifest: PackedManifest,
  root: string,
): Promise<object> {
  return {
    ...manifest,
    dependencies: await usedBy(root, manifest.dependencies),
    name: NAME,
    description:
      "Zarr v3 arrays with the suffix chunk key encoding and the concat-parts storage transformer: shards that are TIFF or zip files, chunks in several objects, and a command line",
    keywords: ["zarr", "zarrita", "tiff", "ome-zarr", "sharding", "arrays"],
    ...repository(),
    homepage: "https://jsr.io/@zarr-parts/zarr-parts",
    engines: { node: ">=20.16" },
    sideEffects: ["./bin/**"],
    // Deno reads the command from a folder, and not from an archive of Yarn's Plug'n'Play.
    preferUnplugged: true,
    exports: {
      ...manifest.exports,
      "./cli": { types: "./src/cli/main.d.ts", default: "./bin/command.js" },
    },
    bin: { [NAME]: "./bin/zarr-parts.js" },
    // Deno has 92 MB. npm does not install it for those who import the library; the command
    // asks npx for it where it is missing.
    peerDependencies: { deno: DENO, zarrita: zarritaRange() },
    peerDependenciesMeta: {
      deno: { optional: true },
      zarrita: { optional: true },
    },
  };
}

/** Those dependencies that modules import. The bundled command holds its own. */
async function usedBy(
  root: string,
  dependencies: Readonly<Record<string, string>>,
): Promise<object> {
  const imported = new Set<string>();
  for (const name of await readdir(join(root, "src"), { recursive: true })) {
    if (!name.endsWith(".js")) continue;
    const text = await readFile(join(root, "src", name), "utf8");
    for (const [, path] of text.matchAll(/\b(?:from|import)\s*\(?"([^"]+)"/g)) {
      imported.add(
        path!.split("/").slice(0, path![0] === "@" ? 2 : 1).join("/"),
      );
    }
  }
  return Object.fromEntries(
    Object.entries(dependencies).filter(([name]) => imported.has(name)),
  );
}

/** The repository that builds the package, which npm compares with the provenance of the tarball. */
function repository(): object {
  const { GITHUB_SERVER_URL, GITHUB_REPOSITORY } = Deno.env.toObject();
  if (!GITHUB_SERVER_URL || !GITHUB_REPOSITORY) return {};
  const url = `git+${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}.git`;
  return { repository: { type: "git", url } };
}

/** The versions of zarrita whose arrays this package knows. */
function zarritaRange(): string {
  const version = /@([\d.]+)$/.exec(config.imports.zarrita)![1]!;
  return `~${version}`;
}

/** Bundles the command line into the folder `bin`. */
async function bundleCommand(
  root: string,
  library: StandardLibrary,
): Promise<void> {
  const std = join(root, "std");
  await bundleStandardLibrary(join(root, "src/cli"), std, library);
  // deno-fmt-ignore
  const install = ["install", "--no-save", "--no-package-lock", "--no-audit", "--no-fund", ...BUNDLER];
  await run("npm", install, { cwd: root });
  // It imports packages from its own folder.
  const config = join(root, "rolldown.config.js");
  await cp(join(ROOT, "tools/npm/rolldown.config.js"), config);
  const env = {
    ...Deno.env.toObject(),
    ZARR_PARTS_ROOT: ROOT,
    ZARR_PARTS_STD: std,
  };
  await run("npx", ["rolldown", "-c", config], { cwd: root, env });
  await rm(config);
  await rm(std, { recursive: true });
  await rm(join(root, "node_modules"), { recursive: true });
}

/** Bundles each module of the standard library that the command line imports into a file. */
async function bundleStandardLibrary(
  command: string,
  target: string,
  { run }: StandardLibrary,
): Promise<void> {
  const names = new Set<string>();
  for await (const { path } of walk(command, { exts: [".js"] })) {
    const text = await readFile(path, "utf8");
    // `deno pack` may name packages of JSR as npm does.
    for (
      const [, name] of text.matchAll(/"@(?:std\/|jsr\/std__)([^"]+)"/g)
    ) names.add(name!);
  }
  for (const name of names) {
    const file = join(target, `${name}.js`);
    await ensureDir(dirname(file));
    await writeFile(`${file}.ts`, `export * from "@std/${name}";\n`);
    const { code, output } = await run(
      // deno-fmt-ignore
      ["bundle", "--config", join(ROOT, "deno.json"), "--external", "node:*", "-o", file, `${file}.ts`],
      { output: "piped" },
    );
    if (code !== 0) throw new Error(`@std/${name} has no bundle\n${output}`);
  }
}

/** Removes the modules of the command line, which the bundled command replaces, and leaves their types. */
async function removeCommand(folder: string): Promise<void> {
  for (const name of await readdir(folder, { recursive: true })) {
    if (/\.(?:js|css)$/.test(name)) await rm(join(folder, name));
  }
}

/** Gives the package its name on npm in all examples. */
async function renamePackage(folder: string): Promise<void> {
  const entries = await readdir(folder, { recursive: true });
  for (const name of entries) {
    if (!/\.(?:d\.ts|md)$/.test(name)) continue;
    const path = join(folder, name);
    const text = await readFile(path, "utf8");
    await writeFile(path, text.replaceAll(`"${config.name}`, `"${NAME}`));
  }
}

if (import.meta.main) {
  const folder = await Deno.makeTempDir();
  try {
    const target = Deno.args[0] ?? ROOT;
    const { stdout } = await run(
      "npm",
      // deno-fmt-ignore
      ["pack", "--json", "--pack-destination", target, await buildPackage(folder)],
      { maxBuffer: 2 ** 26 },
    );
    const [{ filename }] = JSON.parse(stdout);
    console.log(join(target, filename));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
