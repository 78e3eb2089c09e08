/** The scripts of `completions` in the shells zsh and fish. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { inTempDir } from "../stores/temp_dir.ts";
import { findOnPath, testWith } from "../support/tools.ts";
import { runCli } from "./run_cli.ts";

async function shell(name: string) {
  const path = await findOnPath([name]);
  return path === undefined
    ? { missing: `${name} is needed on PATH` }
    : { path };
}

/** Runs a program in a folder, and returns what it prints. */
async function printed(
  cwd: string,
  program: string,
  ...args: readonly string[]
): Promise<string> {
  const { stdout, stderr } = await new Deno.Command(program, {
    args: [...args],
    cwd,
    env: { HOME: cwd },
  }).output();
  assertEquals(new TextDecoder().decode(stderr), "");
  return new TextDecoder().decode(stdout);
}

/** Command lines, and the word that completes each. */
const LINES = [
  ["zarr-parts conv", "convert"],
  ["zarr-parts help spl", "split"],
  ["zarr-parts completions z", "zsh"],
  ["zarr-parts convert --cont", "--container"],
  ["zarr-parts convert --container z", "zip"],
  ["zarr-parts convert dat", "data.zarr"],
] as const;

testWith(
  await shell("fish"),
  "fish completes command lines",
  (fish) =>
    inTempDir(async (folder) => {
      const { out } = await runCli("completions", "fish");
      await Deno.writeTextFile(`${folder}/script.fish`, out);
      await Deno.mkdir(`${folder}/data.zarr`);
      for (const [line, word] of LINES) {
        const script = `source script.fish; complete -C '${line}'`;
        const completed = await printed(folder, fish, "-c", script);
        assertEquals(completed.split(/[\t\n/]/)[0], word, line);
      }
    }),
);

/** Types a command line, and presses Tab and Enter; the command prints its arguments. */
const TYPE = `
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1=; PS2=; zarr-parts() { print -r RESULT zarr-parts "'$@'" }; $1"
zpty -w shell "print REA''DY"
while zpty -r shell line; do [[ $line == *READY* ]] && break; done
zpty -n -w shell "$2"$'\t\n'
while zpty -r shell line; do
  [[ $line == *RESULT* ]] && { print -r -- "\${line##*RESULT }"; break }
done
zpty -d shell`;

testWith(
  await shell("zsh"),
  "zsh completes command lines",
  (zsh) =>
    inTempDir(async (folder) => {
      const { out } = await runCli("completions", "zsh");
      await Deno.mkdir(`${folder}/functions`);
      await Deno.writeTextFile(`${folder}/functions/_zarr-parts`, out);
      await Deno.mkdir(`${folder}/data.zarr`);
      const ways = {
        "from a file": "source functions/_zarr-parts",
        "from a folder":
          "fpath=(functions $fpath); autoload -U compinit; compinit -u -D",
      };
      for (const [way, setup] of Object.entries(ways)) {
        for (const [line, word] of LINES) {
          const args = ["-f", "-c", TYPE, "zsh", setup, line];
          const completed = await printed(folder, zsh, ...args);
          const expected = line.replace(/\S+$/, word);
          assertStringIncludes(completed, expected, `${way}: ${line}`);
        }
      }
    }),
);
