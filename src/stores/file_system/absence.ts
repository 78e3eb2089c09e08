/** The result of an operation on a path, or `undefined` if nothing is there. */
export async function ifPresent<T>(
  operation: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await operation();
  } catch (error) {
    if (isAbsence(error)) return undefined;
    throw error;
  }
}

/** As {@linkcode ifPresent}, for an operation that blocks. */
export function ifPresentSync<T>(operation: () => T): T | undefined {
  try {
    return operation();
  } catch (error) {
    if (isAbsence(error)) return undefined;
    throw error;
  }
}

/** Whether an error says that no file is at a path, or that a file is in a folder's place. */
export function isAbsence(error: unknown): boolean {
  return error instanceof Deno.errors.NotFound ||
    error instanceof Deno.errors.NotADirectory;
}

/** Adds the path to an error of an open file, as Deno does for errors of paths. */
export function withPath(error: unknown, path: string): unknown {
  if (error instanceof Error && !error.message.includes(path)) {
    error.message += `: write '${path}'`;
  }
  return error;
}

/** Whether an error says that the disk is full, or the quota of the user. */
export function isDiskFull(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return code === "ENOSPC" || code === "EDQUOT";
}
