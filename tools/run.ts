/**
 * Runs a subcommand of Deno with the standard library from JSR or, where JSR is
 * out of reach, with its stand-ins: `deno run -A tools/run.ts test -A`
 *
 * A task runs in the folder of deno.json. With `--in-folder-of-caller` first, the
 * subcommand runs in the folder where the task was started, so that paths mean what
 * their writer expects; the module is still one of this repository.
 */
import { fileURLToPath } from "node:url";
import { chooseStandardLibrary } from "./standard_library.ts";

const { run } = await chooseStandardLibrary();
const { code } = Deno.args[0] === "--in-folder-of-caller"
  ? await runForCaller(Deno.args.slice(1))
  : await run(Deno.args, { output: "inherit" });
Deno.exit(code);

/** Runs a module of this repository in the folder where `deno task` was started. */
async function runForCaller([subcommand = "", ...args]: readonly string[]) {
  const pathOf = (name: string) =>
    fileURLToPath(new URL(`../${name}`, import.meta.url));
  const module = args.findIndex((arg) => arg.endsWith(".ts"));
  const absolute = args.with(module, pathOf(args[module]!));
  // Deno sets this variable, also where an option names the folder of the task.
  const cwd = Deno.env.get("INIT_CWD");
  return await run(
    [subcommand, "--config", pathOf("deno.json"), ...absolute],
    { output: "inherit", ...cwd !== undefined && { cwd } },
  );
}
