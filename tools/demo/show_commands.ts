import { main } from "../../src/cli/main.ts";

/**
 * Runs commands of the command line, and prints each one before its output.
 *
 * @throws {Error} If a command fails, which has said why on standard error.
 */
export async function showCommands(
  commands: readonly (readonly string[])[],
): Promise<void> {
  for (const args of commands) {
    console.log(commandText(args));
    const status = await main(args);
    if (status !== 0) throw new Error(`Its command ${args[0]} has failed`);
    console.log();
  }
}

/** A command as it is typed, with its options below it if it is long. */
function commandText(args: readonly string[]): string {
  const line = `$ zarr-parts ${args.join(" ")}`;
  return line.length <= 80 ? line : line.replace(" --", " \\\n    --");
}
