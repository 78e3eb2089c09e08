import { delimiter } from "node:path";
import { type Browser, chromium } from "playwright-core";

/** Where this names a Chromium, its lack is an error and no reason to skip. */
const VARIABLE = "ZARR_PARTS_CHROMIUM";

/** What it is called where it is installed. */
const NAMES = ["chromium", "chromium-browser"];

/**
 * Runs a test in a headless Chromium: the one that an environment variable names,
 * or the one on PATH. Where there is none it prints a line, and does not run it.
 */
export async function inChromium(
  test: (browser: Browser) => Promise<void>,
): Promise<void> {
  const executablePath = Deno.env.get(VARIABLE) || await onPath();
  if (executablePath === undefined) {
    console.log("skipped: Chromium is not on this machine");
    return;
  }
  const browser = await chromium.launch({ executablePath });
  try {
    await test(browser);
  } finally {
    await browser.close();
  }
}

async function onPath(): Promise<string | undefined> {
  const folders = (Deno.env.get("PATH") ?? "").split(delimiter);
  for (const name of NAMES) {
    for (const folder of folders) {
      const path = `${folder}/${name}`;
      try {
        if ((await Deno.stat(path)).isFile) return path;
      } catch (error) {
        if (!(error instanceof Deno.errors.NotFound)) throw error;
      }
    }
  }
}
