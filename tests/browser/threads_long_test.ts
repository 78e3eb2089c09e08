import { assertEquals, assertStringIncludes } from "@std/assert";
import { fileURLToPath } from "node:url";
import type { Browser } from "playwright-core";
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

/** Checks that the page has decoded all chunks. */
function byPage({ isSame, isShared, error, done, failed }: Printed): void {
  assertEquals({ isSame, isShared, error, done, failed }, {
    isSame: true,
    isShared: false,
    error: undefined,
    done: 0,
    failed: 0,
  });
}

const CASES: Case[] = [
  ["transfers elements", {}, { codec: "gzip" }, byThreads(false)],
  ["shares memory", ISOLATED, { codec: "gzip" }, byThreads(true)],
  ["decodes zstd, which threads do not have", {}, { codec: "zstd" }, byPage],
  [
    "decodes a codec of its own, which threads do not have",
    {},
    { codec: "mask" },
    byPage,
  ],
  [
    "decodes by a module under a policy without blobs",
    policy("'self'"),
    { codec: "gzip", program: "module" },
    byThreads(false),
  ],
  [
    "decodes by a module into shared memory",
    ISOLATED,
    { codec: "gzip", program: "module" },
    byThreads(true),
  ],
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
