/** The package for npm with the newest bundlers and test runners of the day. */
import { assertEquals } from "@std/assert";
import { join } from "node:path";
import { testInChromium } from "../browser/chromium.ts";
import { serveFolder } from "../browser/file_server.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { testWith } from "../support/tools.ts";
import { ARRAY, at, install, REGISTRY, succeed } from "./installed.ts";

/** The files of the programs beside `read_in_threads.js`. */
const FILES: Readonly<Record<string, string>> = {
  "index.html":
    '<!doctype html><script type="module" src="./threaded_page.js"></script>',
  "app/layout.js": `export default function Layout({ children }) {
    return <html><body>{children}</body></html>;
  }`,
  "app/page.js": `"use client";
    import { useEffect } from "react";
    export default function Page() {
      useEffect(() => void import("../threaded_page.js"), []);
      return <p>dem.zarr</p>;
    }`,
  "next.config.mjs": 'export default { output: "export" };',
  "reads.test.js": `import { FileSystemStore } from "zarr-parts";
    import { readInThreads } from "./read_in_threads.js";
    test("reads in threads", async () => {
      const { shape } = await readInThreads(new FileSystemStore("dem.zarr"));
      expect(shape).toEqual([344, 403]);
    });`,
};

/** The commands that bundle the page, with the folder that they write and the script in it, if the bundler writes no page. */
const BUNDLERS: Readonly<
  Record<
    string,
    { command: readonly string[]; folder: string; script?: string }
  >
> = {
  vite: { command: ["vite", "build", "--outDir", "vite"], folder: "vite" },
  // deno-fmt-ignore
  webpack: { command: ["webpack", "--mode", "development", "--entry", "./threaded_page.js", "-o", "webpack"], folder: "webpack", script: "main.js" },
  // deno-fmt-ignore
  esbuild: { command: ["esbuild", "threaded_page.js", "--bundle", "--format=esm", "--splitting", "--outdir=esbuild"], folder: "esbuild", script: "threaded_page.js" },
  // deno-fmt-ignore
  rolldown: { command: ["rolldown", "threaded_page.js", "--format", "esm", "--dir", "rolldown"], folder: "rolldown", script: "threaded_page.js" },
  "Next with Turbopack": {
    command: ["next", "build", "--turbopack"],
    folder: "out",
  },
  "Next with webpack": {
    command: ["next", "build", "--webpack"],
    folder: "out",
  },
};

/** Installs the newest versions of tools, and zarr-parts, into a folder with programs that use it. */
async function installNewest(
  folder: string,
  tools: readonly string[],
): Promise<void> {
  const newest = tools.map((name) => `${name}@latest`);
  await install(folder, [...newest, "zarrita@0.7.5"]);
  await Deno.mkdir(join(folder, "app"));
  for (const [name, text] of Object.entries(FILES)) {
    await Deno.writeTextFile(join(folder, name), text);
  }
  for (const name of ["read_in_threads.js", "threaded_page.js"]) {
    const text = await Deno.readTextFile(at(`./${name}`));
    await Deno.writeTextFile(
      join(folder, name),
      text.replaceAll('"@zarr-parts/zarr-parts', '"zarr-parts'),
    );
  }
  await succeed(folder, "cp", "-r", ARRAY, join(folder, "dem.zarr"));
}

if ("missing" in REGISTRY) {
  testWith(REGISTRY, "the newest tools", async () => {});
} else {
  testInChromium(
    "the newest bundlers make pages that read in threads",
    (browser, t) =>
      inTempDir(async (folder) => {
        // deno-fmt-ignore
        await installNewest(folder, ["esbuild", "next", "react", "react-dom", "rolldown", "vite", "webpack", "webpack-cli"]);
        const results = new Set<string>();
        for (const [name, bundler] of Object.entries(BUNDLERS)) {
          await t.step(name, async () => {
            await succeed(folder, "npx", "--offline", ...bundler.command);
            const target = join(folder, bundler.folder);
            if (bundler.script !== undefined) {
              await Deno.writeTextFile(
                join(target, "index.html"),
                `<!doctype html><script type="module" src="./${bundler.script}"></script>`,
              );
            }
            await succeed(folder, "cp", "-r", ARRAY, join(target, "dem.zarr"));
            const server = serveFolder(target);
            try {
              const page = await browser.newPage();
              const message = page.waitForEvent("console", {
                predicate: (message) => message.text().startsWith("result "),
              });
              await page.goto(`${server.url}/index.html`);
              results.add((await message).text());
            } finally {
              await server.close();
            }
            assertEquals(results.size, 1);
            await Deno.remove(target, { recursive: true });
          });
        }
      }),
  );

  testWith(
    REGISTRY,
    "programs read in threads in the newest Vitest and Jest",
    (_, t) =>
      inTempDir(async (folder) => {
        await installNewest(folder, ["jest", "vitest"]);
        await t.step("Vitest", async () => {
          // deno-fmt-ignore
          await succeed(folder, "npx", "--offline", "vitest", "run", "--globals", "reads.test.js");
        });
        await t.step("Jest", async () => {
          // deno-fmt-ignore
          await succeed(folder, "node", "--experimental-vm-modules", "node_modules/jest/bin/jest.js", "reads.test.js");
        });
      }),
  );
}
