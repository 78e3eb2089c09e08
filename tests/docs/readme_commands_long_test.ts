import { assert, assertEquals, assertMatch } from "@std/assert";
import { cliCommand } from "../cli/run_cli.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { codeBlocksOf, pathOf, readPages } from "./pages.ts";

/** Commands that other tests run, or that need a registry. */
const NOT_HERE =
  /^(npx -y deno@\S+ task test\b|alias |npm install |deno add |\w+=\S+ deno serve .* examples\/)/;
/** Commands that run a task, for which Deno chooses JSR or the stand-ins, and the command line. */
const [TASK, CLI] = [/^npx -y deno@\S+ (?=task )/, /^zarr-parts /];

/** The commands of the README, without comments. */
async function readCommands(): Promise<string[]> {
  const [readme] = (await readPages()).filter(({ path }) =>
    path === "README.md"
  );
  return codeBlocksOf(readme!).filter(({ language }) => language === "sh")
    .flatMap(({ code }) => code.replaceAll(/ *\\\n */g, " ").split("\n"))
    .map((line) => line.replace(/(^| +)#.*/, "").trim()).filter(Boolean);
}

/** Clones the repository. */
async function makeClone(folder: string): Promise<void> {
  const { code, stderr } = await new Deno.Command("git", {
    args: ["clone", "--quiet", pathOf("."), folder],
  }).output();
  assertEquals(code, 0, new TextDecoder().decode(stderr));
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
        if (TASK.test(command)) {
          const line = command.replace(TASK, `exec '${Deno.execPath()}' `);
          const { code, stderr } = await new Deno.Command("sh", {
            args: ["-c", line],
            cwd: folder,
          }).output();
          assertEquals(code, 0, new TextDecoder().decode(stderr));
          continue;
        }
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
