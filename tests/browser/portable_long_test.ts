import { assertEquals } from "@std/assert";
import { fileURLToPath } from "node:url";
import { bundle, printedInDeno } from "../runtimes/programs.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { testInChromium } from "./chromium.ts";
import { serveFolder } from "./file_server.ts";

for (const program of ["portable", "portable_zarrita"]) {
  testInChromium(
    `${program}.ts prints the same in Chromium as in Deno`,
    (browser) =>
      inTempDir(async (folder) => {
        const path = fileURLToPath(
          import.meta.resolve(`../runtimes/${program}.ts`),
        );
        await bundle(path, `${folder}/program.js`);
        await Deno.writeTextFile(`${folder}/empty.html`, "<!doctype html>");
        const server = serveFolder(folder);
        try {
          const page = await browser.newPage();
          await page.goto(`${server.url}/empty.html`);
          const printed = page.waitForEvent("console", {
            predicate: (message) => message.type() === "log",
          });
          await page.addScriptTag({ url: "/program.js", type: "module" });
          const message = await printed;
          assertEquals(message.text(), (await printedInDeno(path)).trimEnd());
        } finally {
          await server.close();
        }
      }),
  );
}
