import { assert, assertEquals, assertMatch } from "@std/assert";
import { copy } from "@std/fs/copy";
import { cliCommand } from "../cli/run_cli.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { codeBlocksOf, pathOf, readPages } from "./pages.ts";

/** Commands that other tests run, or that need a registry. */
const NOT_HERE =
  /^(npx -y deno@\S+ task (demo|test)\b|alias |npm install |deno add |\w+=\S+ deno serve .* examples\/)/;
const CLI = /^zarr-parts /;

/** The commands of the README, without comments. */
async function readCommands(): Promise<string[]> {
  const [readme] = (await readPages()).filter(({ path }) =>
    path === "README.md"
  );
  return codeBlocksOf(readme!).filter(({ language }) => language === "sh")
    .flatMap(({ code }) => code.replaceAll(/ *\\\n */g, " ").split("\n"))
    .map((line) => line.replace(/(^| +)#.*/, "").trim()).filter(Boolean);
}

/** Makes a folder with the files of a clone that commands name. */
async function makeClone(folder: string): Promise<void> {
  for (const name of ["dem.zarr", "tiffs"]) {
    const path = `tests/fixtures/${name}`;
    await copy(pathOf(path), `${folder}/${path}`);
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
      await Deno.mkdir(`${folder}/tests/fixtures`, { recursive: true });
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
