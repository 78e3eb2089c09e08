/// <reference lib="dom" />
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import { runDemo } from "../../tools/demo/run_demo.ts";
import { bundle } from "../runtimes/programs.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { testInChromium } from "./chromium.ts";
import { type FileServer, serveFolder } from "./file_server.ts";

const at = (path: string) => fileURLToPath(import.meta.resolve(path));
const EXAMPLE = at("../../examples/browser");

/** The folder of the elevation model, written by zarr-python. */
export const SOURCE = at("../fixtures/dem.zarr");

/** A browser, and a served folder with the page and with `dem.zarr` as the demo stores it. */
export interface Site {
  readonly browser: Browser;
  readonly server: FileServer;
  readonly folder: string;
}

/** Registers a test with a {@linkcode Site}, ignored where there is no Chromium. */
export function testOnSite(
  name: string,
  test: (site: Site, t: Deno.TestContext) => Promise<void>,
): void {
  testInChromium(name, (browser, t) =>
    inTempDir(async (folder) => {
      await bundle(`${EXAMPLE}/main.ts`, `${folder}/main.js`);
      await Deno.copyFile(`${EXAMPLE}/index.html`, `${folder}/index.html`);
      await runDemo(SOURCE, folder);
      const server = serveFolder(folder);
      try {
        await test({ browser, server, folder }, t);
      } finally {
        await server.close();
      }
    }));
}

/** Opens the page for an array, and waits until it shows the map or an error. */
export async function openPage(
  browser: Pick<Browser, "newPage">,
  { url }: FileServer,
  array: string,
): Promise<Page> {
  const page = await browser.newPage();
  const query = new URLSearchParams({ array });
  await page.goto(`${url}/index.html?${query}`);
  await page.locator("canvas:visible, [role=alert]:visible").waitFor();
  return page;
}

/** Returns the visible texts of a page, by ARIA role. */
export async function shownOn(page: Page): Promise<Record<string, string[]>> {
  const shown: Record<string, string[]> = {};
  for (const role of ["status", "alert", "img", "progressbar"] as const) {
    const elements = page.locator(`css=:visible`).and(page.getByRole(role));
    shown[role] = await elements.evaluateAll((elements) =>
      elements.map((element) => element.ariaLabel ?? element.textContent ?? "")
    );
  }
  return shown;
}

/** Returns the width of the canvas, and the red, green, blue and alpha of its pixels. */
export async function pixelsOf(
  page: Page,
): Promise<{ width: number; pixels: Uint8ClampedArray }> {
  const { width, pixels } = await page.locator("canvas").evaluate(
    (canvas: HTMLCanvasElement) => {
      const { width, height } = canvas;
      const context = canvas.getContext("2d")!;
      const { data } = context.getImageData(0, 0, width, height);
      return { width, pixels: Array.from(data) };
    },
  );
  return { width, pixels: Uint8ClampedArray.from(pixels) };
}
