import { assert, assertEquals, assertMatch } from "@std/assert";
import { FileSystemStore } from "../../mod.ts";
import { convert } from "../../src/jobs/mod.ts";
import { cliCommand } from "../cli/run_cli.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { runDemo } from "../../tools/demo/run_demo.ts";
import { codeBlocksOf, pathOf, readPages } from "./pages.ts";

/** Commands that other tests run, or that need what is not in a clone. */
const NOT_HERE =
  /^(npx -y deno@\S+ task (demo|test)\b|npx jsr |(STORE_URL=\S+ )?deno (add|install|run|serve) |zarr-parts serve )/;
const CLI = /^(zarr-parts|npx -y deno@\S+ task cli) /;

/** The command lines of the README, without comments. */
async function readCommands(): Promise<string[]> {
  const [readme] = (await readPages()).filter(({ path }) =>
    path === "README.md"
  );
  return codeBlocksOf(readme!).filter(({ language }) => language === "sh")
    .flatMap(({ code }) => code.replaceAll(/ *\\\n */g, " ").split("\n"))
    .map((line) => line.replace(/ +#.*/, "").trim()).filter(Boolean);
}

Deno.test("the commands of the README work in the order of the page", async () => {
  const commands = (await readCommands()).filter((line) =>
    !NOT_HERE.test(line)
  );
  assert(commands.length > 5, `Found only ${commands.length} commands`);
  await inTempDir(async (folder) => {
    // A folder such as a clone after the demo, with an array of the user's.
    const dem = pathOf("tests/fixtures/dem.zarr");
    await runDemo(dem, `${folder}/demo-output`);
    for (const copy of ["tests/fixtures/dem.zarr", "data.zarr"]) {
      const target = new FileSystemStore(`${folder}/${copy}`);
      await convert(new FileSystemStore(dem), target);
    }
    for (const command of commands) {
      assertMatch(command, CLI);
      assertEquals(/["'\\$]/.test(command), false, command); // The split would differ.
      const words = command.replace(CLI, "").split(" ");
      const [program, ...args] = cliCommand(words);
      const { code, stdout, stderr } = await new Deno.Command(program!, {
        args,
        cwd: folder,
      }).output();
      const error = new TextDecoder().decode(stderr);
      assertEquals([code, error], [0, ""], command);
      assert(stdout.length > 0, command);
    }
  });
});
