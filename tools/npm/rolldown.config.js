/**
 * Bundles the command line, with all packages, into files for Deno that start fast. Node
 * runs a copy of this file in the folder of the package that `deno pack` has written.
 *
 * The file `start` holds what the command `inspect` loads, and nothing else. Each other
 * command has files of its own, so that only its code is read and compiled. Rolldown
 * divides them by the symbols that commands use; esbuild and `deno bundle` would load all
 * jobs with each of them, since jobs come through the door of their room. Modules of Node
 * are loaded on first use: Deno takes up to 25 ms for one, and Commander imports five for
 * features that this package does not use.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { cwd, env } from "node:process";

// Names in variables are not looked up by `deno check`, which has no Rolldown.
const [{ rolldown }, { parseAst }] = await Promise.all(
  ["rolldown", "rolldown/parseAst"].map((name) => import(name)),
);

/** The folder of `deno.json`. */
const ROOT = env.ZARR_PARTS_ROOT;
const TEXT = "\0text:";
const NODE = "\0on first use:";
const CONSTANTS = "constants";

/** Finds what modules import with attributes, and `deno pack` leaves out; and the standard library, in bundles. */
const assets = {
  name: "files that are imported as texts or JSON",
  resolveId(id, importer = "") {
    const std = /^@(?:std\/|jsr\/std__)(.+)$/.exec(id);
    if (std !== null) return join(env.ZARR_PARTS_STD, `${std[1]}.js`);
    if (id.endsWith("/deno.json")) return join(ROOT, "deno.json");
    const isText = /^\.\/(?:page\.css|script\.js)$/.test(id) &&
      importer.endsWith("/page/assets.js");
    // With another ending, since a bundler takes `.css` for a style sheet.
    return isText ? `${TEXT}${id}.text` : undefined;
  },
  async load(id) {
    if (!id.startsWith(TEXT)) return undefined;
    const name = id.slice(TEXT.length, -".text".length);
    const text = await readFile(join(ROOT, "src/cli/page", name), "utf8");
    return `export default ${JSON.stringify(text)};`;
  },
};

/**
 * Replaces modules of Node by modules that load them when one of their functions is called.
 * Constants and classes, such as `sep` of `node:path`, are loaded with the file that uses
 * them. They are modules of their own, as `start` has functions of the same modules of Node.
 */
const nodeOnFirstUse = {
  name: "modules of Node on first use",
  resolveId(id) {
    // Commander extends its class.
    if (id === "node:events") {
      return join(cwd(), "node_modules/eventemitter3/index.mjs");
    }
    if (id.startsWith("npm:")) return { id, external: true };
    if (id.startsWith(NODE)) return { id, moduleSideEffects: false };
    return id.startsWith("node:")
      ? { id: NODE + id, moduleSideEffects: false }
      : undefined;
  },
  async load(id) {
    if (!id.startsWith(NODE)) return undefined;
    const [path, part] = id.slice(NODE.length).split("?");
    const members = Object.entries(await import(path))
      .filter(([name]) => name !== "default" && /^\w+$/.test(name));
    const lines = members.map(([name, value]) => {
      if (part === CONSTANTS) {
        return `export const ${name} = /* @__PURE__ */ $read("${name}");`;
      }
      return typeof value === "function" && /^[a-z]/.test(name)
        ? `export const ${name} = (...args) => $load().${name}(...args);`
        : `export { ${name} } from "${id}?${CONSTANTS}";`;
    });
    const code = `
      const $load = () => globalThis.process.getBuiltinModule("${path}");
      const $read = (name) => $load()[name];
      export default /* @__PURE__ */ new Proxy({}, { get: (_, name) => $load()[name] });
      ${lines.join("\n")}`;
    return { code, moduleSideEffects: false };
  },
};

/** Hides the files of other commands from Deno, which reads and parses all files that it finds in `import()` before it runs the program. */
const filesOnFirstUse = {
  name: "files of commands on first use",
  renderChunk(code) {
    return code.replaceAll(
      /\bimport\(("\.\/[^"]+")\)/g,
      "import(globalThis.String($1))",
    );
  },
};

/**
 * Lets V8 compile the functions of the file `start` when it first compiles the file, and so
 * lets Deno keep them in its cache. V8 does this for functions in parentheses. It compiles
 * the others again in each run, which takes longer than all else that `inspect` does.
 */
const functionsInCache = {
  name: "functions in the cache of Deno",
  renderChunk(code, chunk) {
    if (chunk.name !== START) return undefined;
    const functions = parseAst(code).body
      .filter(({ type }) => type === "FunctionDeclaration");
    const rest = functions.reduceRight(
      (text, { start, end }) => text.slice(0, start) + text.slice(end),
      code,
    );
    const text = ({ start, end }) => code.slice(start, end);
    // First, as other code may call a function before its declaration.
    const hoisted = functions.map((f) => `var ${f.id.name} = (${text(f)});`);
    return [...hoisted, rest].join("\n");
  },
};

const options = {
  input: { command: "src/cli/main.js" },
  platform: "neutral",
  resolve: {
    mainFields: ["module", "main"],
    conditionNames: ["deno", "import", "default"],
  },
  preserveEntrySignatures: "allow-extension",
  treeshake: { moduleSideEffects: false },
  plugins: [assets, nodeOnFirstUse],
};

/** The name of the file with what `inspect` loads. */
const START = "start";

/** The module that runs as the program, which cannot be in another file. */
const MAIN = "/src/cli/main.js";

/** Finds the modules that some modules load, by the symbols that are used of each. */
async function modulesLoadedBy(names) {
  const build = await rolldown({ ...options, onLog() {} });
  const { output } = await build.generate({
    codeSplitting: {
      includeDependenciesRecursively: false,
      groups: [{
        name: (id) => id.replaceAll(/\W/g, "_"),
        test: (id) => !id.endsWith(MAIN),
      }],
    },
  });
  await build.close();
  const files = new Map(output.map((file) => [file.fileName, file]));
  const modulesOf = (file) => Object.keys(file.modules);
  const loaded = new Set(
    output.filter((file) =>
      modulesOf(file).some((id) => names.some((name) => id.endsWith(name)))
    ),
  );
  for (const { imports } of loaded) {
    for (const name of imports) loaded.add(files.get(name));
  }
  return new Set(Array.from(loaded).flatMap(modulesOf));
}

export default async () => {
  const inStart = await modulesLoadedBy([MAIN, "/src/cli/inspect_command.js"]);
  inStart.delete(Array.from(inStart).find((id) => id.endsWith(MAIN)));
  return {
    ...options,
    plugins: [...options.plugins, functionsInCache, filesOnFirstUse],
    output: {
      dir: "bin",
      format: "esm",
      minify: true,
      codeSplitting: {
        includeDependenciesRecursively: false,
        groups: [{ name: START, test: (id) => inStart.has(id) }],
      },
      entryFileNames: "[name].js",
      chunkFileNames: "command/[name]-[hash].js",
    },
  };
};
