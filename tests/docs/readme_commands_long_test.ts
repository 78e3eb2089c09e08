import { assert, assertEquals, assertMatch } from "@std/assert";
import { convert } from "../../jobs.ts";
import { FileSystemStore } from "../../mod.ts";
import { runDemo } from "../../tools/demo/run_demo.ts";
import { cliCommand } from "../cli/run_cli.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { codeBlocksOf, pathOf, readPages } from "./pages.ts";

/** Commands that other tests run, or that need a registry. */
const NOT_HERE =
  /^(npx -y deno@\S+ task (demo|test)\b|npx zarr-parts |npm install |deno add |(deno run|\w+=\S+ deno serve) .* examples\/)/;
const CLI = /^(zarr-parts|npx -y deno@\S+ task cli) /;

/** The commands of the README, without comments. */
async function readCommands(): Promise<string[]> {
  const [readme] = (await readPages()).filter(({ path }) =>
    path === "README.md"
  );
  return codeBlocksOf(readme!).filter(({ language }) => language === "sh")
    .flatMap(({ code }) => code.replaceAll(/ *\\\n */g, " ").split("\n"))
    .map((line) => line.replace(/(^| +)#.*/, "").trim()).filter(Boolean);
}

/** Makes a folder such as a clone after the demo, with data of a user. */
async function makeClone(folder: string): Promise<void> {
  const dem = pathOf("tests/fixtures/dem.zarr");
  await runDemo(dem, `${folder}/demo-output`);
  for (const copy of ["tests/fixtures/dem.zarr", "data.zarr"]) {
    const target = new FileSystemStore(`${folder}/${copy}`);
    await convert(new FileSystemStore(dem), target);
  }
  await Deno.mkdir(`${folder}/survey`);
  for (const place of ["row0_column0", "row0_column1", "row1_column0"]) {
    const tiff = pathOf(`tests/fixtures/tiffs/${place}.tif`);
    await Deno.copyFile(tiff, `${folder}/survey/${place}.tif`);
  }
}

Deno.test({
  name: "the commands of the README work in the order of the page",
  ignore: Deno.build.os === "windows", // They are commands of a Unix shell.
  async fn() {
    const commands = (await readCommands())
      .filter((line) => !NOT_HERE.test(line));
    assert(commands.length > 5, `Found only ${commands.length} commands`);
    await inTempDir(async (folder) => {
      await makeClone(folder);
      const program = cliCommand([]).map((word) => `'${word}'`).join(" ");
      for (const command of commands) {
        assertMatch(command, CLI);
        const isServer = command.startsWith("zarr-parts serve ");
        // Another server may have the port of the README.
        const words = command.replace(CLI, "") + (isServer ? " --port=0" : "");
        const child = new Deno.Command("sh", {
          args: ["-c", `exec ${program} ${words}`],
          cwd: folder,
          stdout: "piped",
          stderr: "piped",
        }).spawn();
        const [code, output, error] = await Promise.all([
          child.status.then(({ code }) => code),
          isServer ? readServed(child) : new Response(child.stdout).text(),
          new Response(child.stderr).text(),
        ]);
        assertEquals([code, error], [0, ""], command);
        assert(output.length > 0, command);
      }
    });
  },
});

/** Reads a document from a server that has started, stops the server, and returns the document. */
async function readServed(child: Deno.ChildProcess): Promise<string> {
  const output = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  try {
    const { value } = await output.read();
    const [url] = value!.match(/http:\S+/)!;
    return await (await fetch(`${url}zarr.json`)).text();
  } finally {
    child.kill("SIGINT");
    while (!(await output.read()).done);
  }
}
