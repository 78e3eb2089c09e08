/**
 * Runs a subcommand of Deno with the standard library from JSR or, where JSR is
 * out of reach, with its stand-ins: `deno run -A tools/run.ts test -A`
 */
import { chooseStandardLibrary } from "./standard_library.ts";

const { run } = await chooseStandardLibrary();
const { code } = await run(Deno.args, { output: "inherit" });
Deno.exit(code);
