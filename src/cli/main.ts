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
import { statfsSync } from "node:fs";
import { dirname } from "node:path";
import config from "../../deno.json" with { type: "json" };
import { isDiskFull } from "../stores/mod.ts";
import {
  type Command,
  helpOf,
  type Io,
  nearestOf,
  parseCommand,
  UsageError,
  withOptionNames,
} from "./command.ts";
import { bytesText } from "./format.ts";

/** The commands by name, with what each does in a line. */
const COMMANDS: Readonly<
  Record<string, { line: string; load(): Promise<Command> }>
> = {
  inspect: {
    line: "show how arrays and groups are laid out",
    load: async () => (await import("./inspect_command.ts")).INSPECT,
  },
  convert: {
    line: "copy arrays and groups to other chunk keys and parts",
    load: async () => (await import("./convert_command.ts")).CONVERT,
  },
  adopt: {
    line: "make an array of TIFF or zip files, which stay as they are",
    load: async () => (await import("./adopt_command.ts")).ADOPT,
  },
  verify: {
    line: "find damage and leftovers in arrays and groups",
    load: async () => (await import("./verify_command.ts")).VERIFY,
  },
  repair: {
    line: "finish interrupted writes, and remove what they have left",
    load: async () => (await import("./repair_command.ts")).REPAIR,
  },
  split: {
    line: "split a single file into parts",
    load: async () => (await import("./file_parts.ts")).SPLIT,
  },
  join: {
    line: "join parts to a single file",
    load: async () => (await import("./file_parts.ts")).JOIN,
  },
  serve: {
    line: "serve arrays to all Zarr programs over HTTP",
    load: async () => (await import("./serve_command.ts")).SERVE,
  },
};

/** The exit status of a program that was stopped by Ctrl-C. */
const INTERRUPTED = 130;
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
  const interrupt = () => {
    if (controller.signal.aborted) Deno.exit(INTERRUPTED);
    controller.abort(new Error("Stopped by Ctrl-C"));
  };
  const io: Io = {
    print: (line) => writeAll(Deno.stdout, `${line}\n`),
    note: (text) => {
      try {
        writeAll(Deno.stderr, text);
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
    io.note(`zarr-parts: ${messageOf(error)}\n`);
    return error instanceof UsageError || error instanceof RangeError ? 2 : 1;
  } finally {
    Deno.removeSignalListener("SIGINT", interrupt);
  }
}

async function run(args: readonly string[], io: Io): Promise<number> {
  const [name = "--help", ...rest] = args;
  if (name === "help" && rest.length > 0) {
    return await run([rest[0]!, "--help"], io);
  }
  if (["--help", "-h", "help"].includes(name)) {
    io.print(overview());
    return args.length === 0 ? 2 : 0;
  }
  if (["--version", "-V"].includes(name)) return printVersion(io);
  if (!Object.hasOwn(COMMANDS, name)) {
    if (name.startsWith("-")) {
      throw new UsageError(
        `Expected a command before ${name}, such as zarr-parts inspect ${name}; known are ${
          Object.keys(COMMANDS).join(", ")
        }`,
      );
    }
    const nearest = await nearestOf(name, Object.keys(COMMANDS));
    throw new UsageError(
      `Unknown command ${JSON.stringify(name)}; ${
        nearest === undefined
          ? `known are ${Object.keys(COMMANDS).join(", ")}`
          : `did you mean ${nearest}?`
      }`,
    );
  }
  const command = await COMMANDS[name]!.load();
  const parsed = await parseCommand(command, rest);
  if (parsed.has("help")) {
    io.print(helpOf(command));
    return 0;
  }
  if (parsed.has("version")) return printVersion(io);
  return await command.run(parsed, io);
}

function printVersion(io: Io): number {
  io.print(`zarr-parts ${config.version}`);
  return 0;
}

function overview(): string {
  const width = Math.max(...Object.keys(COMMANDS).map(({ length }) => length));
  return [
    "zarr-parts COMMAND [arguments]",
    "",
    "Commands:",
    ...Object.entries(COMMANDS).map(([name, { line }]) =>
      `  ${name.padEnd(width)}  ${line}`
    ),
    "",
    "zarr-parts COMMAND --help prints the options of a command, with examples.",
    "zarr-parts --version prints the version.",
  ].join("\n");
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const text = error.message === ""
    ? error.name
    : withOptionNames(error.message);
  return isDiskFull(error) ? `${text}${spaceOf(text)}` : text;
}

/** The space on the disk of the last path in a message about a disk that is full. */
function spaceOf(message: string): string {
  let path = message.match(/'([^']+)'/g)?.at(-1)?.slice(1, -1) ?? ".";
  while (true) {
    try {
      const { bavail, blocks, bsize } = statfsSync(path);
      return `; ${bytesText(bavail * bsize)} of ${
        bytesText(blocks * bsize)
      } are free on the disk of ${path}`;
    } catch {
      if (dirname(path) === path) return "";
      path = dirname(path);
    }
  }
}

/** Writes a text at once. Throws `BrokenPipe` if nobody reads any more. */
function writeAll(
  to: { writeSync(bytes: Uint8Array): number },
  text: string,
): void {
  let bytes = new TextEncoder().encode(text);
  while (bytes.length > 0) bytes = bytes.subarray(to.writeSync(bytes));
}

if (import.meta.main) Deno.exit(await main(Deno.args));
