import { describeStore, redactUrl } from "../describe_store.ts";

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
