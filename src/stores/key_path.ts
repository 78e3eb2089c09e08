/** Splits `/c/0/1` into the folder `/c/0` and the name `1`. */
export function splitPath(key: string): { folder: string; name: string } {
  const slash = key.lastIndexOf("/");
  return { folder: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** The way from a folder to a file below it or beside it: `/c/0/1` and `/a` give `../../a`. */
export function relativeKey(folder: string, key: string): string {
  const from = folder.split("/");
  const to = key.split("/");
  let shared = 0;
  while (shared < from.length && from[shared] === to[shared]) shared++;
  return [...from.slice(shared).map(() => ".."), ...to.slice(shared)].join("/");
}

/** The inverse of {@linkcode relativeKey}; throws for a way that leads out of the root. */
export function resolveKey(folder: string, relative: string): string {
  const segments = folder.split("/");
  for (const segment of relative.split("/")) {
    if (segment !== "..") segments.push(segment);
    else if (segments.length > 1) segments.pop();
    else {
      throw new Error(
        `The journal of a chunk in ${
          JSON.stringify(folder)
        } names a value that is not below the root of the store: ${relative}`,
      );
    }
  }
  return segments.join("/");
}
