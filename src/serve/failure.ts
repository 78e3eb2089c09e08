import {
  DamageError,
  MetadataError,
  UnfinishedWriteError,
} from "../errors/mod.ts";
import { FolderKeyError } from "../stores/mod.ts";
import { DeadlineError } from "./deadline.ts";

/**
 * Returns the message of a failure for clients: without paths and URLs of the server,
 * which the errors of stores may hold. Keys are named.
 *
 * @param key The key that was asked for.
 */
export function failureMessage(error: unknown, key: string): string {
  if (error instanceof DamageError) {
    const reason = publicReason(error, key);
    return reason === undefined
      ? `The stored data of ${key} is damaged`
      : `The stored data is damaged: ${reason}`;
  }
  if (error instanceof MetadataError) {
    const reason = publicReason(error, key);
    return `The metadata is invalid or not understood${
      reason === undefined ? error.path && ` at ${error.path}` : `: ${reason}`
    }`;
  }
  if (error instanceof UnfinishedWriteError) {
    return "The value is being written, or its writer was killed";
  }
  return error instanceof DeadlineError
    ? "The store behind this server did not answer in time"
    : "The store behind this server failed";
}

/**
 * Returns the message of an error about a value if the message names no place but keys;
 * `undefined` if it names a path, a URL, a store, or what may be one.
 *
 * @param key The key that was asked for.
 */
function publicReason(error: Error, key: string): string | undefined {
  // The message of a MetadataError names the store.
  const text = error instanceof MetadataError ? error.problem : error.message;
  const keys = error instanceof DamageError ? [key, error.key] : [key];
  const rest = keys.filter((key) => key.startsWith("/"))
    .reduce((rest, key) => rest.replaceAll(namesBelow(key), '""'), text);
  return /[\\/][^\s"']|Store\(/.test(rest) ? undefined : text;
}

/** Finds a key between quotes, and the keys of its parts. */
function namesBelow(key: string): RegExp {
  const name = JSON.stringify(key).slice(1, -1);
  return new RegExp(
    `"${
      name.replaceAll(/\W/gu, (c) => `\\u{${c.codePointAt(0)!.toString(16)}}`)
    }[^"]*"`,
    "gu",
  );
}

/**
 * Whether an error says that no value can have the key in a file system: the key names a
 * folder, lies below the key of a file, or is too long.
 */
export function isOfNoValue(error: unknown): boolean {
  return error instanceof FolderKeyError ||
    (error as { code?: unknown } | undefined)?.code === "ENAMETOOLONG";
}
