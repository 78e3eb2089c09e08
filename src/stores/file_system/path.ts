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
