/**
 * Bundles the script of the pages that `zarr-parts serve` shows, without zarrita, which
 * pages load on their own: `deno task build`
 */
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { ALIASES } from "./bundle_aliases.ts";

const MAIN = new URL("../page/main.ts", import.meta.url);
const SCRIPT = new URL("../src/cli/page/script.js", import.meta.url);

async function bundle(): Promise<string> {
  const build = await rolldown({
    input: fileURLToPath(MAIN),
    platform: "browser",
    external: ["zarrita"],
    resolve: { alias: ALIASES },
  });
  const { output: [script] } = await build.generate({
    minify: true,
    codeSplitting: false,
  });
  await build.close();
  return `// Bundled from page/ by deno task build. Do not edit.\n${script.code}`;
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
