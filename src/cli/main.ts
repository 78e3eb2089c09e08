/**
 * The command line: `deno run -A jsr:@zarr-parts/zarr-parts/cli`, or `zarr-parts` after
 * `deno install -g -A -n zarr-parts jsr:@zarr-parts/zarr-parts/cli`.
 *
 * @example
 * ```ts
 * import { main } from "@zarr-parts/zarr-parts/cli";
 * import { assertEquals } from "@std/assert";
 *
 * const status = await main(["inspect", "tests/fixtures/dem.zarr", "--quiet"]);
 * assertEquals(status, 0);
 * ```
 *
 * @module
 */
import { nearestName } from "../errors/mod.ts";
import { CommanderError } from "commander";
import {
  addVersion,
  createParser,
  type Io,
  parseCommand,
  UsageError,
} from "./command.ts";
import { COMMANDS } from "./commands.ts";
import { runLogged, writeText } from "./log.ts";
import { WatchedRequests } from "./requests.ts";

/** The output of the program, before the options of a command are known. */
type Output = Omit<Io, "requests">;

/** The exit status of a program that was stopped by Ctrl-C. */
const INTERRUPTED = 130;
/**
 * In milliseconds: how long after Ctrl-C another signal may be the same Ctrl-C, which a
 * terminal sends to this program and to the launcher of the package for npm, which passes
 * signals on.
 */
const SAME_INTERRUPT = 500;
/** The exit status of a program whose output nobody reads any more, as after SIGPIPE. */
const UNREAD = 141;

/**
 * Runs the command line.
 *
 * @param args The arguments, without the name of the program.
 * @returns The exit status: 0, 1 for findings or failed work, 2 for wrong usage, 130 after
 * Ctrl-C, 141 if nobody reads standard output any more.
 *
 * @example
 * ```ts
 * import { main } from "@zarr-parts/zarr-parts/cli";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(await main(["verify", "tests/fixtures/dem.zarr", "--quiet"]), 0);
 * ```
 */
export async function main(args: readonly string[]): Promise<number> {
  const controller = new AbortController();
  let interruptedAt = 0;
  const interrupt = () => {
    const now = performance.now();
    if (!controller.signal.aborted) {
      interruptedAt = now;
      controller.abort(new Error("Stopped by Ctrl-C"));
    } else if (now - interruptedAt > SAME_INTERRUPT) Deno.exit(INTERRUPTED);
  };
  const io: Output = {
    print: (line) => writeText(Deno.stdout, `${line}\n`, "standard output"),
    note: (text) => {
      try {
        writeText(Deno.stderr, text, "standard error");
      } catch (error) {
        // Nobody reads standard error: that is no reason to stop.
        if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
      }
    },
    isTerminal: Deno.stderr.isTerminal(),
    signal: controller.signal,
  };
  Deno.addSignalListener("SIGINT", interrupt);
  try {
    return await run(args, io);
  } catch (error) {
    if (error instanceof Deno.errors.BrokenPipe) return UNREAD;
    if (controller.signal.aborted) {
      io.note("Stopped\n");
      return INTERRUPTED;
    }
    const { errorJson, messageOf } = await import("./error_output.ts");
    const isUsage = error instanceof UsageError || error instanceof RangeError;
    const status = isUsage ? 2 : 1;
    io.note(
      args.includes("--json")
        ? `${errorJson(error, status)}\n`
        : `zarr-parts: ${messageOf(error)}\n`,
    );
    return status;
  } finally {
    Deno.removeSignalListener("SIGINT", interrupt);
  }
}

async function run(args: readonly string[], io: Output): Promise<number> {
  const [name = "", ...rest] = args;
  if (name === "help") return await run([...rest, "--help"], io);
  if (!Object.hasOwn(COMMANDS, name)) return runOverview(args, io);
  const command = await COMMANDS[name]!.load();
  const parsed = parseCommand(command, rest, io.print);
  if (parsed === undefined) return 0;
  const requests = new WatchedRequests(parsed, io);
  try {
    const all: Io = { ...io, requests };
    return await runLogged(args, parsed, all, (io) => command.run(parsed, io));
  } finally {
    requests.stop();
  }
}

/** Prints the list of commands or the version, and refuses all other arguments. */
function runOverview(args: readonly string[], io: Output): number {
  const [name = ""] = args;
  const names = Object.keys(COMMANDS);
  const known = `known are ${names.join(", ")}`;
  if (/^[^-]/.test(name)) {
    const nearest = nearestName(name, names);
    throw new UsageError(
      `Unknown command ${JSON.stringify(name)}; ${
        nearest === undefined ? known : `did you mean ${nearest}?`
      }`,
    );
  }
  const typed = name.replace(/^-+/, "");
  const nearest = typed === "v"
    ? "version"
    : nearestName(typed, ["version", "help"]);
  const option = nearest?.[0] === typed[0] ? nearest : undefined;
  const parser = createParser("zarr-parts", io.print, () =>
    new UsageError(
      option === undefined
        ? `Expected a command before ${name}, such as zarr-parts inspect ${name}; ${known}`
        : `Unknown option ${name}; did you mean --${option}?`,
    ))
    .usage("COMMAND [arguments]")
    .helpCommand(false)
    .addHelpText(
      "after",
      "\nzarr-parts COMMAND --help prints the options of a command, with examples.",
    );
  addVersion(parser);
  for (const [name, { line }] of Object.entries(COMMANDS)) {
    parser.command(name).description(line);
  }
  try {
    if (args.length === 0) parser.outputHelp();
    else parser.parse([...args], { from: "user" });
  } catch (error) {
    if (error instanceof CommanderError) return 0;
    throw error;
  }
  return 2; // Without arguments.
}

if (import.meta.main) Deno.exit(await main(Deno.args));
