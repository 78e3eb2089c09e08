/**
 * Bundles the script of the pages that `zarr-parts serve` shows, without zarrita, which
 * pages load on their own: `deno task build`
 */
import { fileURLToPath } from "node:url";
import { bundleFile } from "./bundle.ts";

const MAIN = new URL("../page/main.ts", import.meta.url);
const SCRIPT = new URL("../src/cli/page/script.js", import.meta.url);

async function bundle(): Promise<string> {
  const options = { minify: true, external: ["zarrita"] };
  const [script] = (await bundleFile(fileURLToPath(MAIN), options)).values();
  return `// Bundled from page/ by deno task build. Do not edit.\n${script!}`;
}

/** Whether the committed script is that of the present sources. */
export async function isPageBuilt(): Promise<boolean> {
  return await bundle() === await Deno.readTextFile(SCRIPT);
}

if (import.meta.main) {
  const text = await bundle();
  await Deno.writeTextFile(SCRIPT, text);
  console.log(`${fileURLToPath(SCRIPT)}: ${text.length} characters`);
}
