import { assertEquals, assertStringIncludes } from "@std/assert";
import { COMMANDS } from "../../src/cli/commands.ts";
import { VALUES } from "../../src/cli/completions_command.ts";
import { runCli } from "./run_cli.ts";

/** Returns what bash would complete a command line to, by the script for it. */
async function completed(script: string, line: string): Promise<string[]> {
  const { stdout } = await new Deno.Command("bash", {
    args: [
      "-c",
      `${script}
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _zarr_parts; echo "\${COMPREPLY[@]}"`,
      "bash",
      ...line.split(" "),
    ],
  }).output();
  const text = new TextDecoder().decode(stdout).trim();
  return text === "" ? [] : text.split(" ");
}

Deno.test({
  name:
    "completions prints a script by which bash completes commands and options",
  ignore: Deno.build.os === "windows",
  async fn() {
    const { code, out, err } = await runCli("completions", "bash");
    assertEquals([code, err], [0, ""]);
    assertEquals(
      await completed(out, "zarr-parts "),
      [...Object.keys(COMMANDS), "help", "--help", "--version"],
    );
    assertEquals(await completed(out, "zarr-parts help con"), ["convert"]);
    assertEquals(
      await completed(out, "zarr-parts completions "),
      ["bash", "zsh", "fish"],
    );
    // Bash divides words at "=".
    for (const words of ["--container ", "--container =", "--container = "]) {
      assertEquals(
        await completed(out, `zarr-parts convert a ${words}`),
        ["tiff", "zip"],
      );
    }
    assertEquals(await completed(out, "zarr-parts con"), ["convert"]);
    assertEquals(
      await completed(out, "zarr-parts convert a --re"),
      ["--recode", "--resume"],
    );
    assertEquals(
      await completed(out, "zarr-parts verify --s"),
      ["--share"],
    );
    // Paths are completed by the shell itself.
    assertEquals(await completed(out, "zarr-parts verify te"), []);
  },
});

Deno.test("completions suggests values that options have, and that commands take", async () => {
  const helps = await Promise.all(
    Object.keys(COMMANDS).map((name) => runCli(name, "--help")),
  );
  const help = helps.map(({ out }) => out.replaceAll(/\s+/g, " ")).join("\n");
  for (const [name, values] of Object.entries(VALUES)) {
    const [, text] = new RegExp(` --${name} <[A-Z]+> (.*?) -`).exec(help)!;
    for (const value of values) assertStringIncludes(text!, value);
  }
});

Deno.test("completions prints the options for fish, and refuses other shells", async () => {
  const { out } = await runCli("completions", "fish");
  assertStringIncludes(
    out,
    "-n '__fish_seen_subcommand_from convert' -l suffix -r -d 'end all chunk keys with this text, such as .tiff; \\'\\' for none'\n",
  );
  const { code, err } = await runCli("completions", "tcsh");
  assertEquals(code, 2);
  assertStringIncludes(err, 'Expected bash, zsh or fish, found "tcsh"\n');
});
