/**
 * Builds the site of the documentation, from the guides in `docs/` and the comments of
 * public symbols: `deno task docs` writes it into `dist/docs/`, or into the folder of its
 * argument.
 *
 * TypeDoc reads the types of the package for npm, since it knows no `deno.json`.
 */
import { execFile } from "node:child_process";
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import config from "../deno.json" with { type: "json" };
import { buildPackage } from "./npm/build_package.ts";

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL("../", import.meta.url));

/** The packages of npm that make the site. */
const PACKAGES = ["typedoc@0.28.20", "typescript@5.9.3", "zarrita@0.7.5"];

/** What guides link to, beside other guides and public symbols. */
const LINKED = [
  ...["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "LICENSE"],
  ...["docs", "examples", "bench/results", "tests/fixtures"],
];

if (import.meta.main) {
  const target = resolve(Deno.args[0] ?? join(ROOT, "dist/docs"));
  const folder = await Deno.makeTempDir();
  try {
    await buildSite(folder, target);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
  console.log(join(target, "index.html"));
}

async function buildSite(folder: string, target: string): Promise<void> {
  const root = await buildPackage(folder);
  await mkdir(join(root, "bench"));
  for (const path of LINKED) {
    await cp(join(ROOT, path), join(root, path), { recursive: true });
  }
  const guides = await titledGuides(join(root, "docs"));
  await writeFile(
    join(root, "tsconfig.json"),
    JSON.stringify({
      compilerOptions: {
        target: "es2022",
        module: "nodenext",
        lib: ["es2023", "dom", "dom.iterable", "esnext.disposable"],
        strict: true,
        skipLibCheck: true,
        noEmit: true,
      },
      include: ["*.d.ts", "src/cli/main.d.ts"],
    }),
  );
  await writeFile(
    join(root, "typedoc.json"),
    JSON.stringify({
      name: config.name,
      includeVersion: true,
      readme: "README.md",
      projectDocuments: guides.map((name) => `docs/${name}.md`),
      entryPoints: Object.values(config.exports)
        .map((path) => path.replace(/\.ts$/, ".d.ts")),
      sort: ["documents-first", "source-order"],
      highlightLanguages: [
        "ts",
        "js",
        "json",
        "sh",
        "console",
        "text",
        "python",
        "http",
      ],
      disableSources: true,
      skipErrorChecking: true,
      out: target,
    }),
  );
  const options = { cwd: root, maxBuffer: 2 ** 26 };
  const install = ["install", "--no-audit", "--no-fund", "--omit=optional"];
  await run("npm", [...install, ...PACKAGES], options);
  const { stdout, stderr } = await run("npx", ["typedoc"], options);
  const problems = `${stdout}${stderr}`.split("\n")
    .filter((line) => /\[(?:error|warning)\]/.test(line));
  if (problems.length > 0) console.error(problems.join("\n"));
}

/** Gives each guide the title of its first line, and returns the names in the order of the table of contents. */
async function titledGuides(folder: string): Promise<string[]> {
  const contents = await readFile(join(folder, "README.md"), "utf8");
  const names = Array.from(
    contents.matchAll(/\]\(([\w-]+)\.md\)/g),
    ([, name]) => name!,
  );
  for (const name of names) {
    const path = join(folder, `${name}.md`);
    const text = await readFile(path, "utf8");
    const [, title = name] = /^# (.*)/m.exec(text) ?? [];
    const head = `---\ntitle: ${JSON.stringify(title)}\n---\n`;
    await writeFile(path, head + text);
  }
  return names;
}
