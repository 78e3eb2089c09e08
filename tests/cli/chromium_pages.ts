import { assertEquals } from "@std/assert";
import type { Browser, Page } from "playwright-core";
import type { MemoryStore } from "../../mod.ts";
import { createHandler } from "../../serve.ts";
import { createPages } from "../../src/cli/page/create_pages.ts";
import { pixelsOf } from "../browser/page.ts";

/** A page of Chromium that shows the pages of a store. */
interface ShownPages {
  readonly origin: string;
  readonly page: Page;
  /** Waits for a text in the status of the picture. */
  waitFor(text: string): Promise<void>;
  /** The width and the pixels of the picture. */
  picture(): ReturnType<typeof pixelsOf>;
  /** Asserts that a page is no wider than a phone, light and dark. */
  assertNarrow(paths: readonly string[]): Promise<void>;
}

/**
 * Serves a store with its pages, and shows them. Requests to other origins, errors of scripts
 * and answers with errors are failures.
 *
 * @param isMissing Whether an answer with an error is expected for a path.
 * @param before Called before each request is answered.
 */
export async function withPages(
  browser: Browser,
  store: MemoryStore,
  task: (shown: ShownPages) => Promise<void>,
  isMissing: (path: string) => boolean = () => false,
  before: (path: string) => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  const handler = createHandler(store, { onError() {} });
  const pages = createPages(store, "example", { onError() {} });
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    async (request) => {
      await before(new URL(request.url).pathname);
      return await pages(request) ?? await handler(request);
    },
  );
  const origin = `http://127.0.0.1:${server.addr.port}`;
  const page = await browser.newPage({ viewport: { width: 390, height: 844 } });
  page.setDefaultTimeout(10_000); // More than any step takes.
  const problems: string[] = [];
  page.on("request", (request) => {
    const url = request.url();
    const isOwn = url.startsWith(origin) || url.startsWith("data:");
    if (!isOwn) problems.push(url);
  });
  page.on("response", (response) => {
    const url = response.url();
    const isExpected = response.status() < 400 ||
      isMissing(new URL(url).pathname);
    if (!isExpected) problems.push(url);
  });
  page.on("dialog", (dialog) => {
    problems.push(dialog.message());
    dialog.dismiss();
  });
  page.on("console", (message) => {
    const isOfResponse = message.text().startsWith("Failed to load resource");
    if (message.type() === "error" && !isOfResponse) {
      problems.push(message.text());
    }
  });
  page.on("pageerror", (error) => problems.push(error.message));
  try {
    await task({
      origin,
      page,
      waitFor: (text) =>
        page.locator("#view [role=status]").filter({ hasText: text }).waitFor(),
      picture: () => pixelsOf(page),
      async assertNarrow(paths) {
        for (const colorScheme of ["light", "dark"] as const) {
          await page.emulateMedia({ colorScheme });
          for (const path of paths) {
            await page.goto(origin + path);
            const width = await page.evaluate(() =>
              document.documentElement.scrollWidth
            );
            assertEquals(width, 390, path);
          }
        }
      },
    });
    assertEquals(problems, []);
  } finally {
    await page.close();
    await server.shutdown();
  }
}
