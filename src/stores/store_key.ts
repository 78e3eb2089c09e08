/** Matches keys whose last segment is the name of a metadata document of Zarr v3 or v2. */
const METADATA_KEY =
  /(?:^|\/)(?:zarr\.json|\.z(?:array|group|attrs|metadata))$/;

/** The greatest length of a suffix of keys in characters; object stores have keys of up to 1024 bytes. */
export const LONGEST_SUFFIX = 1024;

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

/** Whether a key's last segment is the name of a metadata document. */
export function isMetadataKey(key: string): boolean {
  return METADATA_KEY.test(key);
}

/** As {@linkcode keyProblem}, for the key of a chunk or a part: it may not be that of a metadata document either. */
export function chunkKeyProblem(key: string): string | undefined {
  return keyProblem(key) ??
    (isMetadataKey(key) ? "is that of a metadata document" : undefined);
}

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
