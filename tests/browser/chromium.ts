import { type Browser, chromium } from "playwright-core";
import { findOnPath, testWith, type Tool } from "../support/tools.ts";

/** Names the Chromium to run; if it does not start, this is an error. */
const VARIABLE = "ZARR_PARTS_CHROMIUM";

/** The names under which systems install Chromium. */
const NAMES = ["chromium", "chromium-browser"];

/** The path of Chromium. */
export const CHROMIUM: Tool = await findChromium();

/** Registers a test that runs in a headless Chromium, ignored where there is none. */
export function testInChromium(
  name: string,
  test: (browser: Browser, t: Deno.TestContext) => Promise<void>,
): void {
  testWith(CHROMIUM, name, async (executablePath, t) => {
    const browser = await chromium.launch({ executablePath });
    try {
      await test(browser, t);
    } finally {
      await browser.close();
    }
  });
}

async function findChromium(): Promise<Tool> {
  const path = Deno.env.get(VARIABLE) || await findOnPath(NAMES);
  return path === undefined
    ? {
      missing:
        `no Chromium found on PATH; install it (apt-get install chromium) or set ${VARIABLE} to its path`,
    }
    : { path };
}
