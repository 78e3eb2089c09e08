import { UsageError } from "./command.ts";
import { jsonText } from "./format.ts";
import type { Outputs } from "./outputs.ts";

/** The message of an error that ends a command. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message === "" ? error.name : withFlags(error.message);
}

/**
 * An error that ends a command with `--json`, as JSON in one line: its name, its message, its
 * other members, such as the key, and the exit status.
 */
export function errorJson(error: unknown, status: number): string {
  const members = Object.entries(Object(error))
    .filter(([, value]) => value !== null && typeof value !== "function");
  const output: Outputs["error"] = {
    error: {
      ...Object.fromEntries(members),
      name: error instanceof Error ? error.name : "Error",
      message: messageOf(error),
    },
    status,
  };
  return jsonText(output, 0);
}

/** Adds the folder of the store to an error that names a file by its key. */
export function withFolder(error: unknown, root: string): unknown {
  const isAboutKey = error instanceof Error &&
    !(error instanceof UsageError) && !error.message.includes(root);
  if (isAboutKey) error.message += ` (in ${root})`;
  return error;
}

/** Matches `the option "a"`, `the options "a" and "b"`, and `set a: true`. */
const OPTIONS =
  /\b(?:the )?options? ("[\w.]+"(?:(?: and | or )"[\w.]+")*)|\bset (\w+): true\b/gi;
/** Matches a store, also as the place of its root, `"/" in FileSystemStore(a)`. */
const STORE = /(?:"\/" in )?\b(?:FileSystem|Http|S3)Store\(([^()]+)\)/g;
/** Matches an archive in a store, and a folder in the archive. */
const ARCHIVE =
  /(?:"\/" in )?\bZipStore\("([^"]*)" of (?:FileSystem|Http|S3)Store\(([^()?]+)([^()]*)\)(?:, "([^"]*)")?\)/g;

/**
 * Writes the options of functions in a message as those of the command line, `--dry-run` for
 * `the option "dryRun"`, and stores as their paths or URLs.
 */
export function withFlags(message: string): string {
  return message
    .replaceAll(
      OPTIONS,
      (_, names?: string, name?: string) =>
        names === undefined
          ? `give ${flagOf(name!)}`
          : names.replaceAll(/"(?:recode\.)?(\w+)"/g, (_, each: string) =>
            flagOf(each)),
    )
    .replaceAll(
      ARCHIVE,
      (_, key: string, root: string, query: string, path?: string) =>
        `${root.replace(/\/$/, "")}${key}${path ? `/${path}` : ""}${query}`,
    )
    .replaceAll(STORE, "$1");
}

/** Options whose flag has another name. */
const FLAGS: Readonly<Record<string, string>> = {
  keyEncoding: "encoding",
  chunkKeyEncoding: "template",
};

function flagOf(option: string): string {
  const name = FLAGS[option] ??
    option.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return `--${name}`;
}
