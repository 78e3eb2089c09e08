import { build, type Plugin } from "esbuild";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chooseStandardLibrary } from "../standard_library.ts";

/**
 * Bundles the command line, with all packages, into one file for Deno that starts fast.
 *
 * Deno loads its modules of Node in milliseconds each, up to 25 for `node:fs`, and most
 * commands use none of them: Commander imports them for features that this package does
 * not use. So the bundle loads them on first use.
 *
 * @param target The path of the file.
 */
export async function bundleCommand(target: string): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    const [command, emitter] = ["command.js", "emitter.js"]
      .map((name) => join(folder, name)) as [string, string];
    await bundle(import.meta.resolve("../../src/cli/main.ts"), command);
    await bundle(import.meta.resolve("./event_emitter.ts"), emitter);
    await build({
      entryPoints: [command],
      outfile: target,
      bundle: true,
      minify: true,
      format: "esm",
      platform: "neutral",
      legalComments: "inline",
      plugins: [loadOnFirstUse({ "node:events": emitter })],
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function bundle(program: string, target: string): Promise<void> {
  const { run } = await chooseStandardLibrary();
  const path = fileURLToPath(program);
  const { code, output } = await run(
    ["bundle", "--quiet", "--platform", "deno", "-o", target, path],
    { output: "piped" },
  );
  if (code !== 0) throw new Error(`Cannot bundle ${program}: ${output}`);
}

/**
 * Replaces modules of Node by modules that load them when one of their functions is called.
 *
 * @param replaced The paths of other modules, for modules of Node whose exports are no
 * functions.
 */
function loadOnFirstUse(replaced: Readonly<Record<string, string>>): Plugin {
  return {
    name: "load modules of Node on first use",
    setup(build) {
      build.onResolve(
        { filter: /^node:/ },
        ({ path }) =>
          Object.hasOwn(replaced, path)
            ? { path: replaced[path]! }
            : { path, namespace: "node" },
      );
      build.onLoad({ filter: /./, namespace: "node" }, async ({ path }) => {
        const names = Object.keys(await import(path))
          .filter((name) => name !== "default" && /^\w+$/.test(name));
        const lines = names.map((name) =>
          `export const ${name} = (...args) => load().${name}(...args);`
        );
        const contents = `
          const load = () => globalThis.process.getBuiltinModule("${path}");
          export default new Proxy({}, { get: (_, name) => load()[name] });
          ${lines.join("\n")}`;
        return { contents };
      });
    },
  };
}
