import { Command as Parser, CommanderError, Option } from "commander";
import { nearestName } from "../errors/mod.ts";
import { quoted } from "./format.ts";
import config from "../../deno.json" with { type: "json" };

/** A command of the command line. */
export interface Command {
  readonly name: string;
  /** The names of the operands, such as `SOURCE TARGET`. A last one with `…` is one operand or more. */
  readonly operands: readonly string[];
  /** The operands that replace `operands` where an option is given, by the name of the option. */
  readonly operandsWith?: Readonly<Record<string, readonly string[]>>;
  readonly summary: string;
  /** The help of each option, by the flags of the option, such as `--suffix <TEXT>`. */
  readonly options: Readonly<Record<string, string>>;
  /** More options, under headings of their own in the help. */
  readonly groups?: Readonly<Record<string, Command["options"]>>;
  /** Options of which only one may be given. */
  readonly exclusive?: readonly (readonly [string, string])[];
  readonly examples: readonly string[];
  run(args: Arguments, io: Io): Promise<Result>;
}

/** Options of several commands, and what their values say. */
export interface OptionGroup {
  readonly options: Command["options"];
  read(args: Arguments): unknown;
}

/** The result of a command: the output that is printed at its end, and the exit status. */
export interface Result {
  /** What `--json` prints. */
  readonly output?: unknown;
  /** The lines that are printed without `--json` and `--quiet`. */
  readonly lines?: readonly string[];
  /** 0 by default. */
  readonly status?: 0 | 1;
}

/** The arguments of a command. */
export interface Arguments {
  readonly operands: readonly string[];
  /** The value of an option, if the option was given. */
  text(name: string): string | undefined;
  /** The values of an option that may be given several times, in their order. */
  texts(name: string): readonly string[];
  /** Whether an option was given. */
  has(name: string): boolean;
}

/** The output of a command, and the signal that stops it. */
export interface Io {
  /** Prints a line to standard output. */
  print(line: string): void;
  /** Prints a line to standard error. */
  note(line: string): void;
  /** Prints a line to standard error, unless the command is `--quiet`. */
  hint(line: string): void;
  /** Shows on a terminal how far the work is. */
  progress(this: void, progress: Progress): void;
  readonly signal: AbortSignal;
  /** How stores make their requests. */
  readonly requests: Requests;
}

/** How far the work of a command is, in its own units and in bytes. */
export interface Progress {
  readonly done: number;
  readonly total: number;
  readonly bytes?: number;
}

/** The options of stores on servers that a command sets for all of them. */
export interface Requests {
  readonly fetch: (request: Request) => Promise<Response>;
  /** In milliseconds; see `HttpStoreOptions`. */
  readonly timeout: number;
}

/** Wrong usage of the command line. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Composes a {@linkcode UsageError}, whose message has the values between quotes. */
export function usageError(
  texts: TemplateStringsArray,
  ...values: readonly string[]
): UsageError {
  return new UsageError(String.raw({ raw: texts }, ...values.map(quoted)));
}

/** The options that every command has, beside those for its help and the version. */
const COMMON: Command["options"] = {
  "--json": "print JSON",
  "-q, --quiet": "print errors only",
  "--verbose":
    "log each request with its status and time, and the stack of an error, to standard error",
  "--log-file <FILE>": "append this log to a file",
  "--timeout <SECONDS>":
    "the longest time until a server begins its answer, repetitions included, and then between two pieces of the answer; 60 by default",
};

/** The options that may be given several times. */
const REPEATABLE: readonly string[] = ["only", "exclude"];

/** Creates a parser of Commander that throws errors and prints to an output. */
export function createParser(
  name: string,
  print: Io["print"],
  usageError: (error: CommanderError) => UsageError,
): Parser {
  return new Parser(name)
    .addHelpOption(
      new Option("-h, --help", "print this help").helpGroup("Common options:"),
    )
    .showSuggestionAfterError(false)
    .configureOutput({
      writeOut: (text) => print(text.trimEnd()),
      outputError() {},
    })
    .exitOverride((error) => {
      throw error.exitCode === 0 ? error : usageError(error);
    });
}

/** Adds the option that prints the version. */
export function addVersion(parser: Parser): void {
  const text = `zarr-parts ${config.version}`;
  parser.version(text, "-V, --version", "print the version");
  parser.options.at(-1)!.helpGroup("Common options:");
}

/**
 * Parses the arguments of a command.
 *
 * @returns `undefined` if the arguments ask for the help or the version, which is printed.
 * @throws {UsageError} If an option is unknown, lacks its value or excludes another one, or
 * the number of operands is wrong.
 */
export function parseCommand(
  command: Command,
  args: readonly string[],
  print: Io["print"],
): Arguments | undefined {
  const parser = parserOf(command, print);
  try {
    parser.parse([...args], { from: "user" });
  } catch (error) {
    if (error instanceof CommanderError) return undefined;
    throw error;
  }
  const parsed: Arguments = {
    operands: parser.args,
    text: (name) => parser.getOptionValue(attributeOf(name)),
    texts: (name) => parser.getOptionValue(attributeOf(name)) ?? [],
    has: (name) => {
      const value = parser.getOptionValue(attributeOf(name));
      // Commander sets an option such as `--no-color` to false, and else to true.
      return name.startsWith("no-") ? value === false : value !== undefined;
    },
  };
  assertOperands(command, parsed, args, parser);
  return parsed;
}

/** Creates the parser of a command, with the text of its help. */
export function parserOf(command: Command, print: Io["print"]): Parser {
  const parser: Parser = createParser(
    `zarr-parts ${command.name}`,
    print,
    (error) => toUsageError(error, parser),
  )
    .usage([
      `${command.operands.join(" ")} [options]`,
      ...Object.entries(command.operandsWith ?? {}).map(([name, operands]) =>
        `zarr-parts ${
          [command.name, `--${name}`, ...operands].join(" ")
        } [options]`
      ),
    ].join("\n       "))
    .description(command.summary)
    .argument("[operands...]")
    .addHelpText("after", ["\nExamples:", ...command.examples].join("\n  "));
  const groups = Object.entries({
    "Options:": command.options,
    ...command.groups,
    "Common options:": COMMON,
  });
  const options = groups.flatMap(([heading, options]) =>
    Object.entries(options).map(([flags, help]) =>
      new Option(flags, help).helpGroup(heading)
    )
  );
  for (const option of options) {
    const excluded = (command.exclusive ?? [])
      .filter(([first]) => first === option.name())
      .map(([, second]) => attributeOf(second));
    option.conflicts(excluded);
    // Commander parses the next argument as the value, even if it is an option.
    if (option.required) {
      const isRepeatable = REPEATABLE.includes(option.name());
      option.argParser<string | string[]>((text, earlier) => {
        if (/^--[a-z]|^-[qhV]$/.test(text)) throw missingValue(option);
        if (isRepeatable) return [...earlier ?? [], text];
        if (earlier === undefined) return text;
        const both = `${quoted(earlier as string)} and ${quoted(text)}`;
        throw new UsageError(
          `Expected ${option.long} once, found it with ${both}`,
        );
      });
    }
    parser.addOption(option);
  }
  addVersion(parser);
  return parser;
}

/** The name of an option in the results of Commander, such as `dryRun`. */
function attributeOf(name: string): string {
  return new Option(`--${name}`).attributeName();
}

/** Converts an error of Commander about the arguments of a command. */
function toUsageError(
  { code, message }: CommanderError,
  { options }: Parser,
): UsageError {
  const [first, second] = Array.from(
    message.matchAll(/option '(?:-\w, )?(-*)([^' =]+)(=?)/g),
    ([, dashes, name, equals]) => ({ dashes, name: name!, equals }),
  );
  const { dashes = "--", name = "", equals } = first ?? {};
  const option = options.find((each) => each.name() === name);
  if (code === "commander.conflictingOption") {
    return new UsageError(
      `Expected --${name} or --${second!.name}, found both`,
    );
  }
  if (code === "commander.optionMissingArgument") return missingValue(option!);
  if (option !== undefined && equals !== "") {
    return new UsageError(`Expected --${name} without a value`);
  }
  const known = [...options.map((each) => each.name()), "help"];
  const nearest =
    known.find((each) => name.length > 1 && each.startsWith(name)) ??
      nearestName(name, known);
  const hint = nearest === undefined ? "" : `; did you mean --${nearest}?`;
  return new UsageError(`Unknown option ${dashes}${name}${hint}`);
}

function missingValue({ long, flags }: Option): UsageError {
  const [, value] = /<(.*)>/.exec(flags)!;
  return new UsageError(
    `Expected a value after ${long}, such as ${long}=${value}`,
  );
}

/** Refuses a wrong number of operands. The message names an operand that may have been parsed as the value of an option. */
function assertOperands(
  { operands, operandsWith = {} }: Command,
  parsed: Arguments,
  args: readonly string[],
  { options }: Parser,
): void {
  const changed = Object.keys(operandsWith).find((name) => parsed.has(name));
  const expected = changed === undefined ? operands : operandsWith[changed]!;
  const missing = expected.length - parsed.operands.length;
  const takesMore = expected.at(-1)?.endsWith("…") ?? false;
  if (missing === 0 || missing < 0 && takesMore) return;
  const found = parsed.operands.map(quoted).join(" ") || "nothing";
  const at = args.findLastIndex((text, i) =>
    missing > 0 && i + 1 < args.length &&
    options.some(({ long, required }) => long === text && required)
  );
  const taken = at < 0
    ? ""
    : `; ${quoted(args[at + 1]!)} is the value of ${args[at]}`;
  const what = expected.join(" and ") ||
    `nothing but options with --${changed}`;
  throw new UsageError(`Expected ${what}, found ${found}${taken}`);
}

/**
 * Parses the value of an option.
 *
 * @param form What follows the name of the option in the message of an error, such as
 * `=K/N with K from 1 to N`.
 * @param parse Returns `undefined` for a value that the option does not take.
 * @returns `undefined` if the option was not given.
 */
export function valueOf<T>(
  args: Arguments,
  name: string,
  form: string,
  parse: (text: string) => T | undefined,
): T | undefined {
  const text = args.text(name);
  if (text === undefined) return undefined;
  const value = parse(text);
  if (value !== undefined) return value;
  throw new UsageError(`Expected --${name}${form}, found ${quoted(text)}`);
}

/** Parses the value of an option that is a whole number. */
export function wholeNumber(args: Arguments, name: string): number | undefined {
  return valueOf(
    args,
    name,
    "=N with a whole number",
    (text) => /^\d{1,9}$/.test(text) ? Number(text) : undefined,
  );
}

/** Parses the value of an option that takes a few words. */
export function oneOf<T extends string>(
  args: Arguments,
  name: string,
  words: readonly T[],
): T | undefined {
  const list = new Intl.ListFormat("en-GB", { type: "disjunction" });
  return valueOf(
    args,
    name,
    `=${list.format(words)}`,
    (text) => words.find((word) => word === text),
  );
}
