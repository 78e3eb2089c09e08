/**
 * Bundles the command line, with all packages, into files for Deno that start fast. Node
 * runs this in the folder of the package that `deno pack` has written.
 *
 * Each command has files of its own, so that only its code is compiled. Rolldown divides
 * them by the symbols that commands use; esbuild and `deno bundle` would load all jobs with
 * each of them, since jobs come through the door of their room. Modules of Node are loaded
 * on first use: Deno takes up to 25 ms for one, and Commander imports five for features
 * that this package does not use.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { cwd } from "node:process";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const TEXT = "\0text:";
const NODE = "\0on first use:";

/** Finds what modules import with attributes, and `deno pack` leaves out. */
const assets = {
  name: "files that are imported as texts or JSON",
  resolveId(id, importer = "") {
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

/** Replaces modules of Node by modules that load them when one of their functions is called. */
const nodeOnFirstUse = {
  name: "modules of Node on first use",
  resolveId(id) {
    // Commander extends its class.
    if (id === "node:events") {
      return join(cwd(), "node_modules/eventemitter3/index.mjs");
    }
    if (id.startsWith("npm:")) return { id, external: true };
    return id.startsWith("node:")
      ? { id: NODE + id, moduleSideEffects: false }
      : undefined;
  },
  async load(id) {
    if (!id.startsWith(NODE)) return undefined;
    const path = id.slice(NODE.length);
    const names = Object.keys(await import(path))
      .filter((name) => name !== "default" && /^\w+$/.test(name));
    const lines = names.map((name) =>
      `export const ${name} = (...args) => load().${name}(...args);`
    );
    const code = `
      const load = () => globalThis.process.getBuiltinModule("${path}");
      export default /* @__PURE__ */ new Proxy({}, { get: (_, name) => load()[name] });
      ${lines.join("\n")}`;
    return { code, moduleSideEffects: false };
  },
};

/** What most commands load comes in few files, since each file takes half a millisecond. */
const GROUPS = {
  archives: /src\/archives\//,
  codecs: /src\/codecs\//,
  base:
    /commander|eventemitter|levenshtein|src\/(?:runtime|errors|metadata|stores|checksum|splitter|chunk_key_encoding|concat_parts|shards|arrays|views|containers\/adoption\/adopted_index)/,
};

export default {
  input: { command: "src/cli/main.js" },
  platform: "neutral",
  resolve: {
    mainFields: ["module", "main"],
    conditionNames: ["deno", "import", "default"],
  },
  treeshake: { moduleSideEffects: false },
  plugins: [assets, nodeOnFirstUse],
  output: {
    dir: "bin",
    format: "esm",
    minify: true,
    codeSplitting: {
      groups: Object.entries(GROUPS).map(([name, test]) => ({ name, test })),
    },
    entryFileNames: "[name].js",
    chunkFileNames: "command/[name]-[hash].js",
  },
};
