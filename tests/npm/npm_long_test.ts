/** The package for npm, installed into empty folders. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { exists } from "@std/fs/exists";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { FileSystemStore } from "../../mod.ts";
import { getSharded, withZarrParts } from "../../zarrita.ts";
import { testInChromium } from "../browser/chromium.ts";
import { serveFolder } from "../browser/file_server.ts";
import { printed } from "../runtimes/programs.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { testWith } from "../support/tools.ts";
import { ARRAY, at, install, NPM, pack, runIn, succeed } from "./installed.ts";
import * as zarr from "zarrita";

/** The tools of users that check or bundle the package. */
const TOOLS = [
  "@arethetypeswrong/cli@0.18.5",
  "@types/node@20",
  "esbuild@0.28.2",
  "publint@0.3.25",
  "rolldown@1.3.2",
  "typescript@5.9.3",
  "vite@8.3.8",
  "zarrita@0.7.5",
];

testWith(
  NPM,
  "npx zarr-parts works where only Node and npm are",
  (_, t) =>
    inTempDir(async (folder) => {
      await install(folder, []);
      await t.step(
        "without Deno, which npx fetches for the command",
        async () => {
          assertEquals(await exists(join(folder, "node_modules/deno")), false);
          const { code, stdout, stderr } = await runIn(folder, "npx", [
            ...["--offline", "zarr-parts", "inspect", ARRAY, "--json"],
          ]);
          assertEquals(code, 0, stderr);
          assertEquals(JSON.parse(stdout).nodes[0].path, "");
        },
      );
      const npx = (...args: string[]) =>
        runIn(folder, "npx", ["--offline", "zarr-parts", ...args]);
      await succeed(folder, "cp", "-r", ARRAY, "dem.zarr");
      await t.step("inspect", async () => {
        const { code, stdout } = await npx("inspect", "dem.zarr");
        assertEquals(code, 0);
        assertMatch(stdout, /^dem\.zarr {2}array\n {2}shape +344 × 403/);
      });
      await t.step(
        "inspect loads no modules of Node, which take long",
        async () => {
          const program = `
          Object.defineProperty(globalThis, "process", {
            get() { throw new Error("A module of Node is loaded"); },
          });
          const { main } = await import(Deno.args[0]);
          Deno.exit(await main(["inspect", Deno.args[1]]));`;
          const path = join(folder, "without_node.js");
          await Deno.writeTextFile(path, program);
          const command = join(
            folder,
            "node_modules/zarr-parts/bin/command.js",
          );
          // deno-fmt-ignore
          const output = await printed(Deno.execPath(), ["run", "-A", "--no-config", path, pathToFileURL(command).href, ARRAY]);
          assertMatch(output, /shape +344 × 403/);
        },
      );
      await t.step("convert and verify", async () => {
        // deno-fmt-ignore
        const converted = await npx("convert", "dem.zarr", "out/parts.zarr", "--suffix", ".shard", "--parts", ",.index");
        assertEquals(converted.code, 0, converted.stderr);
        assert((await Deno.stat(`${folder}/out/parts.zarr/zarr.json`)).isFile);
        const verified = await npx("verify", "--deep", "out/parts.zarr");
        assertEquals(verified.code, 0, verified.stdout + verified.stderr);
      });
      await t.step("adopt", async () => {
        await succeed(
          folder,
          "cp",
          at("../fixtures/tiffs/row0_column0.tif"),
          ".",
        );
        // deno-fmt-ignore
        const adopted = await npx("adopt", "row0_column0.tif", "--into", "out/scene.zarr", "--link");
        assertEquals(adopted.code, 0, adopted.stderr);
      });
      await t.step("errors", async () => {
        const { code, stderr } = await npx("verify", "missing.zarr");
        assertEquals(code, 1);
        assertMatch(stderr, /There is no folder "missing\.zarr" in /);
        assertEquals((await npx("inspet", "dem.zarr")).code, 2);
      });
      for (const signal of ["SIGTERM", "SIGINT"] as const) {
        await t.step(`serve, until ${signal}`, async () => {
          const server = new Deno.Command("node", {
            // deno-fmt-ignore
            args: ["node_modules/.bin/zarr-parts", "serve", "dem.zarr", "--port=0"],
            cwd: folder,
            stdout: "piped",
            stderr: "null",
          }).spawn();
          const output = server.stdout.pipeThrough(new TextDecoderStream())
            .getReader();
          try {
            const { value } = await output.read();
            const url = /http:\/\/\S+/.exec(value!)![0];
            const response = await fetch(new URL("zarr.json", url));
            assertEquals((await response.json()).shape, [344, 403]);
          } finally {
            // The launcher passes the signal on.
            server.kill(signal);
            const status = await server.status;
            assertEquals(status.code, 0);
            await output.cancel();
          }
        });
      }
    }),
);

Deno.test("the bundled command passes the tests of the command line", () =>
  inTempDir(async (folder) => {
    await succeed(folder, "tar", "-xzf", await pack(folder));
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      // deno-fmt-ignore
      args: ["run", "-A", at("../../tools/run.ts"), "test", "-A", "--no-check", "--parallel", "--ignore=**/*_long_test.ts", at("../cli")],
      env: { ZARR_PARTS_COMMAND: join(folder, "package/bin/command.js") },
    }).output();
    const decoder = new TextDecoder();
    assertEquals(code, 0, decoder.decode(stdout) + decoder.decode(stderr));
  }));

testInChromium(
  "the package for npm has types, runs in Node, and bundles for browsers",
  (browser, t) =>
    inTempDir(async (folder) => {
      const tarball = await install(folder, TOOLS);
      const npx = async (...args: string[]): Promise<void> => {
        await succeed(folder, "npx", "--offline", ...args);
      };
      for (const name of ["program.ts", "page.ts"]) {
        const text = await Deno.readTextFile(at(`./${name}`));
        await Deno.writeTextFile(
          join(folder, name),
          text.replaceAll('"@zarr-parts/zarr-parts', '"zarr-parts'),
        );
      }
      // deno-fmt-ignore
      const options = ["--strict", "--target", "es2022", "--lib", "es2022,dom,dom.iterable,dom.asynciterable,esnext.disposable,esnext.asynciterable", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess"];
      await t.step("TypeScript with nodenext", () =>
        // The types of zarrita itself do not pass without skipLibCheck.
        npx(
          "tsc",
          ...options,
          "--skipLibCheck",
          "--module",
          "nodenext",
          "program.ts",
          "page.ts",
        ));
      await t.step("TypeScript with bundler", () =>
        npx(
          "tsc",
          ...options,
          "--noEmit",
          "--module",
          "esnext",
          "--moduleResolution",
          "bundler",
          "program.ts",
          "page.ts",
        ));
      await t.step("Node", async () => {
        const output = await succeed(folder, "node", "program.js");
        assertMatch(output, /\ndone\n$/);
      });
      await t.step("publint", () => npx("publint", "--strict", tarball));
      await t.step("attw", () => npx("attw", tarball, "--profile", "esm-only"));
      await Deno.writeTextFile(
        join(folder, "index.html"),
        '<!doctype html><script type="module" src="./page.ts"></script>',
      );
      const bundlers: Record<string, readonly string[]> = {
        // deno-fmt-ignore
        vite: ["vite", "build", "--outDir", "vite", "--target", "es2022"],
        // deno-fmt-ignore
        esbuild: ["esbuild", "page.ts", "--bundle", "--format=esm", "--splitting", "--outdir=esbuild"],
        // deno-fmt-ignore
        rolldown: ["rolldown", "page.ts", "--format", "esm", "--dir", "rolldown"],
      };
      const array = await zarr.open(
        withZarrParts(new FileSystemStore(ARRAY)),
        { kind: "array" },
      );
      const { data, shape } = await getSharded(zarr, array);
      const sum = Array.from(data as Int16Array).reduce((a, b) => a + b, 0);
      for (const [name, command] of Object.entries(bundlers)) {
        await t.step(name, async () => {
          await npx(...command);
          const target = join(folder, name);
          if (name !== "vite") {
            await Deno.writeTextFile(
              join(target, "index.html"),
              '<!doctype html><script type="module" src="./page.js"></script>',
            );
          }
          await succeed(folder, "cp", "-r", ARRAY, join(target, "dem.zarr"));
          const server = serveFolder(target);
          try {
            const page = await browser.newPage();
            const message = page.waitForEvent("console", {
              predicate: (message) => message.type() === "log",
            });
            await page.goto(`${server.url}/index.html`);
            assertEquals(
              (await message).text(),
              JSON.stringify({ shape, sum }),
            );
          } finally {
            await server.close();
          }
        });
      }
    }),
);
