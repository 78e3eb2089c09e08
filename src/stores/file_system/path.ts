import { describeStore, redactUrl } from "../describe_store.ts";

const TEMPORARY = ".zarr-parts-tmp-";

/** A URL's scheme, which has two letters at least: one letter is a drive of Windows. */
const SCHEME = /^[a-z][a-z\d+.-]+:\/\//i;

/** The path of a root that is given as a path or as a `file:` URL. */
export function rootPath(root: unknown): string {
  if (typeof root !== "string" && !(root instanceof URL)) {
    throw new TypeError(
      `Expected the path or file: URL of a folder, found ${
        describeStore(root)
      }`,
    );
  }
  if (typeof root === "string" && !SCHEME.test(root)) return root;
  if (root instanceof URL && root.protocol === "file:" && root.host === "") {
    // Not `fileURLToPath` of node:url: this module must load in browsers.
    const path = decodeURIComponent(root.pathname);
    return Deno.build.os === "windows" ? path.slice(1) : path;
  }
  const url = redactUrl(String(root));
  const advice = /^https?:/i.test(url)
    ? `: use new HttpStore("${url}")`
    : /^file:\/\/\//i.test(url)
    ? `: use new FileSystemStore(new URL("${url}"))`
    : "";
  throw new TypeError(
    `Expected the path of a folder or a file: URL of this machine, found "${url}"${advice}`,
  );
}

/** Splits `/c/0/1` into the folder `/c/0` and the name `1`. */
export function splitPath(key: string): { folder: string; name: string } {
  const slash = key.lastIndexOf("/");
  return { folder: key.slice(0, slash), name: key.slice(slash + 1) };
}

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
/** The longest name of a chunk that its journal has whole, in characters. */
const LONGEST_NAME = 50;

/**
 * The name of the journal of a chunk, in the folder of the chunk key. It depends on the
 * last segment of the key alone, so that stores with different roots have the same one.
 */
export async function journalName(name: string): Promise<string> {
  if (name.length <= LONGEST_NAME) return JOURNAL + name;
  const digest = await crypto.subtle.digest(
    "SHA-256",
    new TextEncoder().encode(name),
  );
  const hex = Array.from(
    new Uint8Array(digest, 0, 16),
    (byte) => byte.toString(16).padStart(2, "0"),
  );
  return `${JOURNAL}${name.slice(0, LONGEST_NAME)}-${hex.join("")}`;
}

/** Whether the name of a temporary file is that of a journal. */
export function isJournal(name: string): boolean {
  return name.startsWith(JOURNAL);
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
        } names a file that is not below the root of the store: ${relative}`,
      );
    }
  }
  return segments.join("/");
}
