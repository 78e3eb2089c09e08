import { parseArgs, type ParseArgsConfig } from "node:util";
import type { Finding } from "../jobs/mod.ts";

/** An option of a command. */
export interface CommandOption {
  readonly type: "string" | "boolean";
  /** The letter of the option, such as `q` for `-q`. */
  readonly short?: string;
  /** The name of the value in the help, such as `TEXT`. */
  readonly value?: string;
  readonly help: string;
}

/** A command of the command line. */
export interface Command {
  readonly name: string;
  /** The names of the arguments, such as `SOURCE TARGET`. A last one with `…` is any number of arguments. */
  readonly operands: readonly string[];
  /** The names of the arguments with an option that changes them. */
  readonly operandsWith?: Readonly<Record<string, readonly string[]>>;
  readonly summary: string;
  readonly options: Readonly<Record<string, CommandOption>>;
  /** Options of which only one may be given. */
  readonly exclusive?: readonly (readonly [string, string])[];
  readonly examples: readonly string[];
  /** Runs the command, and returns the exit status. */
  run(args: Arguments, io: Io): Promise<number>;
}

/** The arguments of a command. */
export interface Arguments {
  readonly operands: readonly string[];
  /** The text of an option, if it was given. */
  text(name: string): string | undefined;
  /** Whether an option was given. */
  has(name: string): boolean;
}

/** The output of a command, and the signal that stops it. */
export interface Io {
  /** Writes a line to standard output. */
  print(line: string): void;
  /** Writes to standard error. */
  note(text: string): void;
  /** Whether standard error is a terminal, which shows progress. */
  readonly isTerminal: boolean;
  readonly signal: AbortSignal;
}

/** Wrong usage of the command line. */
export class UsageError extends Error {}

/** The options that every command has. */
export const COMMON: Command["options"] = {
  json: { type: "boolean", help: "print JSON" },
  quiet: { type: "boolean", short: "q", help: "print errors only" },
  help: { type: "boolean", short: "h", help: "print this help" },
  version: { type: "boolean", short: "V", help: "print the version" },
};

/**
 * Parses the arguments of a command.
 *
 * @throws {UsageError} If an option is unknown, lacks its value or excludes another one, or
 * the number of operands is wrong.
 */
export async function parseCommand(
  command: Command,
  args: readonly string[],
): Promise<Arguments> {
  const options: ParseArgsConfig["options"] = {};
  for (const [name, { type, short }] of Object.entries(optionsOf(command))) {
    options[name] = { type, ...short !== undefined && { short } };
  }
  const { values, positionals } = await parse(command, args, options);
  const isHelp = values.help === true || values.version === true;
  const changed = Object.entries(command.operandsWith ?? {})
    .find(([name]) => values[name] === true);
  const operands = changed?.[1] ?? command.operands;
  if (!isHelp && !isCount(operands, positionals.length)) {
    throw new UsageError(
      `Expected ${operands.join(" and ")}, found ${
        positionals.length === 0
          ? "nothing"
          : positionals.map((each) => JSON.stringify(each)).join(" ")
      }${takenBy(command, args, positionals.length < operands.length)}`,
    );
  }
  const both = command.exclusive?.find((pair) =>
    pair.every((name) => values[name] !== undefined)
  );
  if (both !== undefined && !isHelp) {
    throw new UsageError(
      `Expected --${both[0]} or --${both[1]}, found both`,
    );
  }
  return {
    operands: positionals,
    text: (name) => values[name] as string | undefined,
    has: (name) => values[name] !== undefined && values[name] !== false,
  };
}

function isCount(operands: readonly string[], count: number): boolean {
  return operands.at(-1)?.endsWith("…")
    ? count >= operands.length
    : count === operands.length;
}

/** Says which value of an option may have been meant as an operand that is missing. */
function takenBy(
  command: Command,
  args: readonly string[],
  isMissing: boolean,
): string {
  if (!isMissing) return "";
  const names = args.map((text) => /^--([^=]+)$/.exec(text)?.[1] ?? "");
  const at = names.findLastIndex((name, i) =>
    Object.hasOwn(command.options, name) &&
    command.options[name]!.type === "string" && i + 1 < args.length
  );
  return at < 0
    ? ""
    : `; ${JSON.stringify(args[at + 1])} is the value of --${names[at]}`;
}

async function parse(
  command: Command,
  args: readonly string[],
  options: NonNullable<ParseArgsConfig["options"]>,
) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    const { code, message } = error as Error & { code?: string };
    if (!code?.startsWith("ERR_PARSE_ARGS")) throw error;
    const [, dashes = "--", name = ""] =
      /'(?:-\w, )?(--?)([^' =]+)/.exec(message) ?? [];
    if (code === "ERR_PARSE_ARGS_UNKNOWN_OPTION") {
      const known = Object.keys(optionsOf(command));
      const nearest = await nearestOf(name, known);
      throw new UsageError(
        `Unknown option ${dashes}${name}${
          nearest === undefined ? "" : `; did you mean --${nearest}?`
        }`,
      );
    }
    const option = optionsOf(command)[name];
    throw new UsageError(
      option?.type === "string"
        ? `Expected a value after --${name}, such as --${name}=${option.value}`
        : `Expected --${name} without a value`,
    );
  }
}

/** The name that is the most like a wrong one. */
export async function nearestOf(
  name: string,
  known: readonly string[],
): Promise<string | undefined> {
  const { closest, distance } = await import("fastest-levenshtein");
  const nearest = closest(name, [...known]);
  const isNear = distance(name, nearest) <= Math.max(2, name.length / 3);
  return isNear ? nearest : undefined;
}

/** All options of a command, by name. */
function optionsOf(command: Command): Command["options"] {
  return { ...command.options, ...COMMON };
}

/** The help of a command, in 80 columns. */
export function helpOf(command: Command): string {
  const entries = Object.entries(optionsOf(command)).map((
    [name, { value, short, help }],
  ) =>
    [
      `${short === undefined ? "" : `-${short}, `}--${name}${
        value === undefined ? "" : ` ${value}`
      }`,
      help,
    ] as const
  );
  const width = Math.max(...entries.map(([option]) => option.length));
  return [
    `zarr-parts ${command.name} ${command.operands.join(" ")} [options]`,
    ...Object.entries(command.operandsWith ?? {}).map(([name, operands]) =>
      `zarr-parts ${command.name} --${name} ${operands.join(" ")} [options]`
    ),
    "",
    command.summary,
    "",
    "Options:",
    ...entries.flatMap(([option, help]) => wrapped(option.padEnd(width), help)),
    "",
    "Examples:",
    ...command.examples.map((example) => `  ${example}`),
  ].join("\n");
}

/** A line of help that goes on below itself. */
function wrapped(option: string, help: string): string[] {
  const width = 76 - option.length;
  const lines = [""];
  for (const word of help.split(" ")) {
    const last = lines.at(-1)!;
    if (last.length + word.length + 1 <= width) {
      lines[lines.length - 1] = last === "" ? word : `${last} ${word}`;
    } else lines.push(word);
  }
  const [first, ...rest] = lines;
  const indent = " ".repeat(option.length + 4);
  return [`  ${option}  ${first}`, ...rest.map((line) => indent + line)];
}

/** The options of functions that have another name on the command line. */
const RENAMED: Readonly<Record<string, string>> = {
  keyEncoding: "encoding",
  chunkKeyEncoding: "template",
};

/** The options of functions that the command line has. */
const NAMES = [
  "keyEncoding",
  "chunkKeyEncoding",
  "suffix",
  "parts",
  "plain",
  "metadata",
  "container",
  "resume",
  "overwrite",
  "dryRun",
  "keepGoing",
  "share",
  "finish",
  "concurrency",
  "link",
  "stack",
  "page",
  "overview",
  "fillValue",
  "array",
];

/** Matches `the option "a"`, `the options "a" and "b"`, and `set a: true`. */
const QUOTED = new RegExp(
  `\\b(?:the )?(?:O|o)ptions? ("(?:${NAMES.join("|")})"(?:(?: and | or )"(?:${
    NAMES.join("|")
  })")*)`,
  "g",
);
const ASSIGNED = new RegExp(`\\b(?:set )?(${NAMES.join("|")}): true\\b`, "g");

/** Advice about functions, and the same advice about commands. */
const ADVICE: readonly (readonly [string | RegExp, string])[] = [
  ["by recover(store)", "by zarr-parts repair"],
  ["call adoptTiffs or adoptZip again", "run zarr-parts adopt again"],
  ["or convertInPlace, which", "or convert --in-place, which"],
  ["by convertInPlace or zarr-parts convert", "by zarr-parts convert"],
  [": give arrayMetadata a shardShape", ""],
  [
    /Unknown (?:chunk key encoding|codec) "unfinished, to be finished by: ([^"]+)"; known are [^(]*[^( ]/g,
    "A conversion in place is unfinished; finish it by the same command again, $1 with the folder that it was run on",
  ],
  [
    ': use "numcodecs.zlib", which compresses the same way',
    '; convert keeps codecs, so write the array anew with "numcodecs.zlib" first, in zarr-python: from zarr.codecs.numcodecs import Zlib; a = zarr.open_array("old"); zarr.create_array("new", data=a[:], chunks=a.chunks, shards=a.shards, compressors=Zlib(level=6))',
  ],
  [
    ": leave it out, or store the checksums elsewhere",
    "; convert keeps codecs, so write the array anew without it first",
  ],
  ["Expected the store's root to be a folder", "Expected a folder"],
  [", or give a shardShape", ""],
  ['such as ["", ".index"]', "such as --parts ,.index"],
];

/** Matches a store in a message, and its path or URL. */
const STORE = /\b(?:FileSystem|Http|S3)Store\(([^()]+)\)/g;

/** Matches the root of a store, which is the folder that was typed. */
const ROOT = /"\/" in (?:FileSystem|Http|S3)Store\(([^()]+)\)/g;

/** Matches the nodes that are elsewhere in a store. */
const NODES =
  /(No Zarr node at "[^"]*" in (?:FileSystem|Http|S3)Store\(([^()]+)\).*there (?:is a node|are nodes) at )(.*)/;

/** Puts the path or the URL of the store before the keys of nodes. */
function withPlaces(message: string): string {
  return message.replace(
    NODES,
    (_, text: string, root: string, nodes: string) =>
      text +
      nodes.replaceAll(
        /"\/([^"]*)"/g,
        (_, key: string) => `"${root.replace(/\/$/, "")}/${key}"`,
      ),
  );
}

/**
 * Puts the names of the command line in place of those of functions: `--dry-run` for
 * `the option "dryRun"`, and the path or the URL for a store.
 */
export function withOptionNames(message: string): string {
  const renamed = withPlaces(message)
    .replaceAll(
      QUOTED,
      (_, names: string) =>
        names.replaceAll(/"(\w+)"/g, (_, name: string) => optionOf(name)),
    )
    .replaceAll(
      ASSIGNED,
      (text, name: string) =>
        `${text.startsWith("set ") ? "give " : ""}${optionOf(name)}`,
    );
  return ADVICE.reduce(
    (text, [from, to]) => text.replaceAll(from, to),
    renamed.replaceAll(ROOT, "$1").replaceAll(STORE, "$1"),
  );
}

function optionOf(name: string): string {
  const renamed = RENAMED[name] ??
    name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return `--${renamed}`;
}

/** The severities, from the least one. */
const SEVERITIES: readonly Finding["severity"][] = ["note", "warning", "error"];

/** The option that says which findings make the exit status 1. */
export const FAIL_ON_OPTION: Readonly<Record<string, CommandOption>> = {
  "fail-on": {
    type: "string",
    value: "SEVERITY",
    help:
      "the least severity with exit status 1: error, warning or note; error if not given",
  },
};

/** Returns a function that tells whether a finding makes the exit status 1. */
export function failsOn(args: Arguments): (finding: Finding) => boolean {
  const least = args.text("fail-on") ?? "error";
  const rank = SEVERITIES.indexOf(least as Finding["severity"]);
  if (rank < 0) {
    throw new UsageError(
      `Expected --fail-on=error, warning or note, found ${
        JSON.stringify(least)
      }`,
    );
  }
  return ({ severity }) => SEVERITIES.indexOf(severity) >= rank;
}
