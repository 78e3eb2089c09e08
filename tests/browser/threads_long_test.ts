import { assertEquals, assertStringIncludes } from "@std/assert";
import { fileURLToPath } from "node:url";
import type { Browser } from "playwright-core";
import config from "../../deno.json" with { type: "json" };
import { bundleExports, bundleFile } from "../../tools/bundle.ts";
import { bundle } from "../runtimes/programs.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { testInChromium } from "./chromium.ts";
import { serveFolder } from "./file_server.ts";

/** The number of chunks that are stored, of 8. */
const STORED = 6;

interface Printed {
  isSame?: boolean;
  isShared?: boolean;
  error?: string;
  workers: number;
  done: number;
  failed: number;
  isIsolated: boolean;
}

const ISOLATED = {
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-embedder-policy": "require-corp",
};
/** zarrita's zstd makes functions of text. */
const policy = (workers: string) => ({
  "content-security-policy":
    `default-src 'self'; script-src 'self' 'unsafe-eval'; worker-src ${workers}`,
});

type Case = [
  what: string,
  headers: Record<string, string>,
  query: Record<string, string>,
  check: (printed: Printed) => void,
];

/** Checks that threads have decoded all chunks. */
const byThreads = (isShared: boolean) => (printed: Printed) =>
  assertEquals(printed, {
    isSame: true,
    isShared,
    workers: 2,
    done: STORED,
    failed: 0,
    isIsolated: isShared,
  });

/** Checks that the page has decoded all chunks, though threads may have tried. */
function byPage({ isSame, isShared, error, done }: Printed): void {
  assertEquals({ isSame, isShared, error, done }, {
    isSame: true,
    isShared: false,
    error: undefined,
    done: 0,
  });
}

const CASES: Case[] = [
  ["transfers elements", {}, { codec: "gzip" }, byThreads(false)],
  ["shares memory", ISOLATED, { codec: "gzip" }, byThreads(true)],
  [
    "decodes zstd, which threads of the default program do not have",
    {},
    { codec: "zstd" },
    byPage,
  ],
  [
    "decodes a codec of its own, which threads of the default program do not have",
    {},
    { codec: "mask" },
    (printed) => {
      byPage(printed);
      assertEquals(printed.failed, STORED);
    },
  ],
  ...["gzip", "zstd", "mask"].flatMap((codec): Case[] => [
    [
      `decodes ${codec} by a module under a policy without blobs`,
      policy("'self'"),
      { codec, program: "module" },
      byThreads(false),
    ],
    [
      `decodes ${codec} by a module into shared memory`,
      ISOLATED,
      { codec, program: "module" },
      byThreads(true),
    ],
  ]),
  [
    "decodes by itself under a policy without blobs",
    policy("'self'"),
    { codec: "gzip" },
    byPage,
  ],
  [
    "decodes by itself under a policy without workers",
    policy("'none'"),
    { codec: "gzip" },
    byPage,
  ],
  [
    "is told that the policy refuses its module",
    policy("'none'"),
    { codec: "gzip", program: "module" },
    ({ error, done }) => {
      assertEquals(done, 0);
      assertStringIncludes(error!, "The worker of createWorker cannot be ");
    },
  ],
];

async function printedBy(
  browser: Browser,
  folder: string,
  headers: Record<string, string>,
  query: Record<string, string>,
): Promise<Printed> {
  const server = serveFolder(folder, headers);
  const page = await browser.newPage();
  try {
    const printed = page.waitForEvent("console", {
      predicate: (message) => message.type() === "log",
    });
    await page.goto(`${server.url}/page.html?${new URLSearchParams(query)}`);
    return JSON.parse((await printed).text());
  } finally {
    await page.close();
    await server.close();
  }
}

testInChromium(
  "a page reads by threads",
  (browser, t) =>
    inTempDir(async (folder) => {
      for (const name of ["threaded_page", "threaded_worker"]) {
        const program = fileURLToPath(import.meta.resolve(`./${name}.ts`));
        await bundle(program, `${folder}/${name}.js`);
      }
      await Deno.writeTextFile(
        `${folder}/page.html`,
        `<!doctype html><script type="module" src="threaded_page.js"></script>`,
      );
      for (const [what, headers, query, check] of CASES) {
        await t.step(`a page ${what}`, async () => {
          check(await printedBy(browser, folder, headers, query));
        });
      }
    }),
);

testInChromium(
  "threads of a page import zarrita by the import map of the page",
  (browser, t) =>
    inTempDir(async (folder) => {
      const program = fileURLToPath(import.meta.resolve("./threaded_page.ts"));
      const files = [
        ...await bundleFile(program, { external: ["zarrita"] }),
        ...await bundleExports({ "*": config.imports.zarrita }, {}),
      ];
      const [page, zarrita] = files.map(([_, text]) => text);
      await Deno.writeTextFile(`${folder}/threaded_page.js`, page!);
      await Deno.writeTextFile(`${folder}/zarrita.js`, zarrita!);
      const map = JSON.stringify({ imports: { zarrita: "/zarrita.js" } });
      await Deno.writeTextFile(
        `${folder}/page.html`,
        `<!doctype html><script type="importmap">${map}</script><script type="module" src="threaded_page.js"></script>`,
      );
      for (const codec of ["gzip", "zstd"]) {
        await t.step(codec, async () => {
          byThreads(true)(
            await printedBy(browser, folder, ISOLATED, { codec }),
          );
          byThreads(false)(await printedBy(browser, folder, {}, { codec }));
        });
      }
    }),
);
