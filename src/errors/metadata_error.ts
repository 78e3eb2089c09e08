import { describe } from "./describe.ts";

/** The greatest number of characters of a path that a message shows. */
const LONGEST = 400;

/**
 * The error for metadata that the Zarr specifications do not allow, or that this
 * package does not understand.
 *
 * @example The location in the document
 * ```ts
 * import { MetadataError, parseChunkKeyEncoding } from "@zarr-parts/zarr-parts";
 * import { assertEquals, assertThrows } from "@std/assert";
 *
 * const error = assertThrows(
 *   () => parseChunkKeyEncoding({ name: "v2", configuration: { separator: "|" } }),
 *   MetadataError,
 * );
 * assertEquals(error.path, "/configuration/separator");
 * ```
 */
export class MetadataError extends SyntaxError {
  /** The name of the class. */
  override readonly name = "MetadataError";
  /**
   * The location in the metadata as a JSON pointer (RFC 6901), such as
   * `/storage_transformers/0/configuration/parts/1/size`. Empty for the whole.
   */
  readonly path: string;
  /** The problem, without the location. */
  readonly problem: string;

  /**
   * Creates an error about a value in metadata.
   *
   * @param problem The problem with the value, and what is expected.
   * @param path The location of the value as a JSON pointer; empty for the whole document.
   * @param options `document`: the store key of the metadata document, and
   * `store`: a description of its store, both for the message; `cause`: the
   * underlying error.
   */
  constructor(
    problem: string,
    path = "",
    options: ErrorOptions & { document?: string; store?: string } = {},
  ) {
    const { document = "", store, ...errorOptions } = options;
    const shown = shortenedPath(path);
    const pointed = document !== "" && path !== ""
      ? `${document}#${shown}`
      : document + shown;
    const location = store === undefined ? pointed : `${pointed} in ${store}`;
    super(
      location === "" ? problem : `${problem} (at ${location})`,
      errorOptions,
    );
    this.problem = problem;
    this.path = path;
  }
}

/** Leaves out the middle of a path that is too long for a message. */
function shortenedPath(path: string): string {
  return path.length <= LONGEST
    ? path
    : `${path.slice(0, LONGEST / 2)}…${path.slice(-LONGEST / 2)}`;
}

/**
 * Appends a member name or an index to a JSON pointer, with the escapes of RFC 6901.
 * Names that are too long are cut.
 */
export function pointer(path: string, member: string | number): string {
  const name = shortenedPath(String(member));
  return `${path}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

/** Runs `parse`. If it throws a metadata error, puts `path` in front of its path. */
export function below<T>(path: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof MetadataError)) throw error;
    throw new MetadataError(error.problem, path + error.path, {
      cause: error.cause,
    });
  }
}

/** Runs `parse`. If it throws a `RangeError` or a `TypeError`, throws a metadata error at `path` instead. */
export function atPath<T>(path: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof RangeError || error instanceof TypeError)) {
      throw error;
    }
    throw new MetadataError(error.message, path, { cause: error });
  }
}

/** Runs `parse`. If it throws a metadata error, adds the document and its store to the message. */
export function inDocument<T>(
  document: string,
  store: string,
  parse: () => T,
): T {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof MetadataError)) throw error;
    throw new MetadataError(error.problem, error.path, {
      document,
      store,
      cause: error.cause,
    });
  }
}

/**
 * The error for a key that an encoding cannot decode.
 *
 * @example
 * ```ts
 * import { ChunkKeyError, DefaultChunkKeyEncoding } from "@zarr-parts/zarr-parts";
 * import { assertEquals, assertThrows } from "@std/assert";
 *
 * const error = assertThrows(
 *   () => new DefaultChunkKeyEncoding().decode("c/01"),
 *   ChunkKeyError,
 * );
 * assertEquals(error.key, "c/01");
 * ```
 */
export class ChunkKeyError extends SyntaxError {
  /** The name of the class. */
  override readonly name = "ChunkKeyError";
  /** The whole key. */
  readonly key: string;
  /** The problem, without the key. */
  readonly problem: string;
  /** The key of a chunk that the key may stand for, if the key has numbers that are no chunk's. */
  readonly nearest: string | undefined;

  /**
   * Creates an error about a key.
   *
   * @param key The whole key.
   * @param problem The problem, and what is expected. The message is `Chunk key`,
   *   the key and the problem.
   * @param options `cause`: the underlying error. `nearest`: the key of a chunk that the
   *   key may stand for.
   */
  constructor(
    key: string,
    problem: string,
    options?: ErrorOptions & { readonly nearest?: string | undefined },
  ) {
    super(`Chunk key ${describe(key)} ${problem}`, options);
    this.key = key;
    this.problem = problem;
    this.nearest = options?.nearest;
  }
}
