import { UsageError } from "./command.ts";

/** Adds the folder of the store to an error that names a file by its key. */
export function withFolder(error: unknown, root: string): unknown {
  const isAboutKey = error instanceof Error &&
    !(error instanceof UsageError) && !error.message.includes(root);
  if (isAboutKey) error.message += ` (in ${root})`;
  return error;
}
