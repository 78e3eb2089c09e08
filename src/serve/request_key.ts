import { sentence } from "../errors/mod.ts";
import { isTemporary, keyProblem, type StoreKey } from "../stores/mod.ts";

/** The greatest length of a key in bytes, that of object stores. */
const LONGEST_KEY = 1024;

/** The key of a request, or the answer that refuses it. */
type RequestKey =
  | { readonly key: StoreKey }
  | { readonly status: 400 | 404; readonly body: string };

/** Checks the path of a mount. Returns it without its last `/`, and percent-encoded. */
export function parseMount(mount: string): string {
  const path = mount.replace(/\/$/, "");
  const problem = path.startsWith("/") ? keyProblem(path.slice(1)) : undefined;
  const isPath = path.startsWith("/") && problem === undefined &&
    !/[?#]/.test(path);
  if (path === "") return path;
  if (isPath) return new URL(`http://host${path}`).pathname;
  throw new RangeError(
    sentence`Expected mount to be a path such as "/data", found ${mount}`,
  );
}

/**
 * Returns the path below a mount; `undefined` for other paths.
 *
 * @param mount Empty, or a path without a `/` at its end.
 */
export function pathBelow(mount: string, url: string): string | undefined {
  // Finding the path takes a fraction of the time that a URL takes to parse.
  const start = url.indexOf("/", url.indexOf("://") + 3);
  const end = url.search(/[?#]|$/);
  const path = start < 0 || start > end ? "/" : url.slice(start, end);
  if (path === mount) return "/";
  return path.startsWith(`${mount}/`) ? path.slice(mount.length) : undefined;
}

/** The answer for an absent value. */
export const NOT_FOUND = { status: 404, body: "Not found\n" } as const;

/** Decodes the path of a request to a key. Folders and temporary files have no key. */
export function keyOfPath(path: string): RequestKey {
  let key: string;
  try {
    key = path.includes("%") ? path.split("/").map(decodeName).join("/") : path;
  } catch {
    return { status: 400, body: "Expected a path in percent-encoded UTF-8\n" };
  }
  const names = key.split("/");
  if (names.at(-1) === "" || names.some(isTemporary)) return NOT_FOUND;
  const problem = keyProblem(key.slice(1));
  if (problem !== undefined) {
    return { status: 400, body: `The path ${problem}\n` };
  }
  // No character has more than 3 bytes for each unit of UTF-16.
  return 3 * key.length > LONGEST_KEY &&
      new TextEncoder().encode(key).length > LONGEST_KEY
    ? { status: 400, body: `Expected a path of at most ${LONGEST_KEY} bytes\n` }
    : { key: key as StoreKey };
}

/** Decodes one name, which must not hold a `/` of its own. */
function decodeName(name: string): string {
  const decoded = decodeURIComponent(name);
  if (decoded.includes("/")) throw new URIError("A name holds a slash");
  return decoded;
}
