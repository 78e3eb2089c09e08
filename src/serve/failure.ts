import { DamageError } from "../errors/damage_error.ts";
import { MetadataError } from "../metadata/metadata_error.ts";
import { FolderKeyError } from "../stores/folder_key_error.ts";
import { UnfinishedWriteError } from "../stores/unfinished_write_error.ts";
import { DeadlineError } from "./deadline.ts";

/**
 * Returns the message of a failure for clients: without paths and URLs of the server,
 * which the errors of stores may hold.
 */
export function failureMessage(error: unknown): string {
  if (error instanceof DamageError) {
    return `The stored data is damaged: ${error.message}`;
  }
  if (error instanceof MetadataError) {
    return `The metadata is invalid or not understood: ${error.problem}`;
  }
  if (error instanceof UnfinishedWriteError) {
    return "The value is being written, or its writer was killed";
  }
  return error instanceof DeadlineError
    ? "The store behind this server did not answer in time"
    : "The store behind this server failed";
}

/** Whether an error says that no value can have the key: that of a folder, or too long for the file system. */
export function isOfNoValue(error: unknown): boolean {
  return error instanceof FolderKeyError ||
    (error as { code?: unknown } | undefined)?.code === "ENAMETOOLONG";
}
