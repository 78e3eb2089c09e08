import { digestOf } from "../runtime/mod.ts";

// deno-lint-ignore no-control-regex
const FORBIDDEN = /[\\\u0000-\u001f\u007f-\u009f]|\p{Surrogate}/u;

/** Matches most keys, which need no further checks. */
const ORDINARY = /^\w[\w.-]*(?:\/\w[\w.-]*)*$/;

/**
 * The problem of a key that some store could not keep below its root, or
 * `undefined` for a valid one.
 *
 * @param key The key without its leading `/`.
 */
export function keyProblem(key: string): string | undefined {
  if (ORDINARY.test(key)) return undefined;
  const forbidden = FORBIDDEN.exec(key);
  if (forbidden) {
    const code = forbidden[0].charCodeAt(0).toString(16).padStart(4, "0");
    return forbidden[0] === "\\"
      ? "holds a backslash"
      : code.startsWith("d")
      ? `holds half a surrogate pair (U+${code.toUpperCase()})`
      : `holds a control character (U+${code.toUpperCase()})`;
  }
  for (const segment of key.split("/")) {
    if (segment === "") return "holds an empty segment";
    if (segment === "." || segment === "..") {
      return `holds the segment "${segment}"`;
    }
  }
}

/** Matches keys whose last segment is the name of a metadata document of Zarr v3 or v2. */
const METADATA_KEY =
  /(?:^|\/)(?:zarr\.json|\.z(?:array|group|attrs|metadata))$/;

/** Whether a key's last segment is the name of a metadata document. */
export function isMetadataKey(key: string): boolean {
  return METADATA_KEY.test(key);
}

/** Returns the problem of the key of a chunk or a part, which may not be that of a metadata document; `undefined` for a valid one. */
export function chunkKeyProblem(key: string): string | undefined {
  return keyProblem(key) ??
    (isMetadataKey(key) ? "is that of a metadata document" : undefined);
}

/** Whether a key may be that of a part of a chunk: a part key is the chunk key and a suffix. */
export function mayBePart(chunk: string, key: string): boolean {
  return key.startsWith(chunk) && !isMetadataKey(key);
}

/** The greatest length of a suffix of keys in characters, since object stores have keys of up to 1024 bytes. */
export const LONGEST_SUFFIX = 1024;

/** Refuses a key that some store could not keep below its root. */
export function assertStoreKey(key: string): void {
  if (typeof key !== "string") {
    throw new TypeError(`Expected a key, a string, found ${String(key)}`);
  }
  const problem = key.startsWith("/")
    ? keyProblem(key.slice(1))
    : 'does not start with "/"';
  if (problem === undefined) return;
  throw new RangeError(
    `Key ${
      JSON.stringify(key)
    } ${problem}: a key is "/" and names joined by "/"`,
  );
}

/** Refuses a prefix that no store key starts with. The last name may be incomplete. */
export function assertStorePrefix(prefix: string): void {
  const problem = prefix.startsWith("/")
    // With one more letter, an incomplete name such as ".." is a name: "..x".
    ? keyProblem(`${prefix.slice(1)}x`)
    : 'does not start with "/"';
  if (problem === undefined) return;
  throw new RangeError(
    `Prefix ${
      JSON.stringify(prefix)
    } ${problem}: a prefix is the start of a key, "/" and names joined by "/"`,
  );
}

/**
 * Thrown for a key that can have no value in a file system, since the key names a folder,
 * or lies below a key that names a file.
 */
export class FolderKeyError extends Error {}

/** Splits `/c/0/1` into the folder `/c/0` and the name `1`. */
export function splitPath(key: string): { folder: string; name: string } {
  const slash = key.lastIndexOf("/");
  return { folder: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** Returns the path of a file relative to a folder: `/c/0` and `/a` give `../../a`. */
export function relativeKey(folder: string, key: string): string {
  const from = folder.split("/");
  const to = key.split("/");
  let shared = 0;
  while (shared < from.length && from[shared] === to[shared]) shared++;
  return [...from.slice(shared).map(() => ".."), ...to.slice(shared)].join("/");
}

/** Returns the key of a path relative to a folder, and refuses a path that leads out of the root. */
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

const TEMPORARY = ".zarr-parts-tmp-";

/** Whether a name is that of a temporary file. */
export function isTemporary(name: string): boolean {
  return name.startsWith(TEMPORARY);
}

/** Refuses a key with a name that is reserved for temporary files. */
export function assertNotTemporary(key: string): void {
  if (!key.includes(`/${TEMPORARY}`)) return;
  throw new RangeError(
    `Key ${
      JSON.stringify(key)
    } has a name that starts with "${TEMPORARY}": such names are for temporary files`,
  );
}

/** A new path in a folder for a temporary file. */
export function temporaryPath(folder: string): string {
  return `${folder}/${TEMPORARY}${crypto.randomUUID()}`;
}

/** The name of the file that the run of a conversion in place locks, in the folder of the node. */
export const IN_PLACE_LOCK: string = `${TEMPORARY}in-place`;

const JOURNAL = `${TEMPORARY}journal-`;
const VALUE = `${TEMPORARY}value-`;
/** The longest name of a chunk, in characters, that is in the name of its lock as a whole. */
const LONGEST_NAME = 50;

/**
 * The name of the journal of a chunk, in the folder of the chunk key. It depends on the
 * last segment of the key alone, so that stores with different roots use the same journal.
 */
export async function journalName(name: string): Promise<string> {
  return JOURNAL + await lockedName(name);
}

/** The name of the file that locks a value in one file, in the folder of that file. */
export async function valueLockName(name: string): Promise<string> {
  return VALUE + await lockedName(name);
}

async function lockedName(name: string): Promise<string> {
  if (name.length <= LONGEST_NAME) return name;
  const digest = await digestOf(new TextEncoder().encode(name));
  return `${name.slice(0, LONGEST_NAME)}-${digest}`;
}

/** Whether the name of a temporary file is that of a journal. */
export function isJournal(name: string): boolean {
  return name.startsWith(JOURNAL);
}

/** Whether the name of a temporary file is that of a lock, which different writers use. */
export function isLock(name: string): boolean {
  return isJournal(name) || name.startsWith(VALUE);
}
