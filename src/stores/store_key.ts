/** Names that Zarr gives to metadata documents, of version 3 and of version 2. */
const METADATA_NAMES = new Set([
  "zarr.json",
  ".zarray",
  ".zgroup",
  ".zattrs",
  ".zmetadata",
]);

// deno-lint-ignore no-control-regex
const FORBIDDEN = /[\\\u0000-\u001f\u007f-\u009f]|\p{Surrogate}/u;

/** Most keys, of which nothing more need be looked at. */
const ORDINARY = /^\w[\w.-]*(?:\/\w[\w.-]*)*$/;

/**
 * What is wrong with a key, without its leading `/`, or `undefined` if nothing
 * is: each segment must be a name that stays in its folder on every store.
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

/** Whether a key's last segment is the name of a metadata document. */
export function isMetadataKey(key: string): boolean {
  return METADATA_NAMES.has(key.slice(key.lastIndexOf("/") + 1));
}

/** What is wrong with a key for a chunk or a part: being that of a metadata document too. */
export function chunkKeyProblem(key: string): string | undefined {
  return keyProblem(key) ??
    (isMetadataKey(key) ? "is that of a metadata document" : undefined);
}

/** Refuses a store key that no store could keep safely below its root. */
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
