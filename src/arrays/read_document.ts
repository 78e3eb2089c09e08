import { describe, MetadataError, SizeLimitError } from "../errors/mod.ts";
import { LONGEST_DOCUMENT } from "../metadata/mod.ts";
import {
  backendOf,
  describeStore,
  keyProblem,
  type Snapshot,
  type Store,
  type StoreKey,
  type StoreOptions,
} from "../stores/mod.ts";

/**
 * Converts an array's path to the prefix of its keys, without a last `/`: empty
 * for the root.
 *
 * @throws {TypeError} If the path is not a string.
 * @throws {RangeError} If the path is not names joined by `/`.
 */
export function arrayRoot(path: string): "" | StoreKey {
  const expected =
    `the array's path in the store, such as "elevation" or "" for the root`;
  if (typeof path !== "string") {
    throw new TypeError(`Expected ${expected}, found ${describe(path)}`);
  }
  if (path === "" || path === "/") return "";
  const names = path.replace(/^\/|\/$/g, "");
  const problem = keyProblem(names);
  if (problem === undefined) return `/${names}`;
  throw new RangeError(
    `Path ${describe(path)} ${problem}; expected ${expected}`,
  );
}

/**
 * Reads a metadata document.
 *
 * @throws {MetadataError} If the document is too long. It is not read to its end then.
 */
export async function readDocument(
  store: Store,
  key: StoreKey,
  options?: StoreOptions,
): Promise<Uint8Array | undefined> {
  options?.signal?.throwIfAborted();
  return await backendOf(store).read(
    [key],
    (values) => documentIn(values, key, store),
    options,
  );
}

/**
 * Reads a metadata document of a snapshot.
 *
 * @param store The store of the snapshot, for messages.
 * @throws {MetadataError} If the document is too long.
 */
export async function documentIn(
  values: Snapshot,
  key: StoreKey,
  store: Store,
): Promise<Uint8Array | undefined> {
  try {
    return await values.read(key, undefined, { limit: LONGEST_DOCUMENT });
  } catch (cause) {
    if (!(cause instanceof SizeLimitError)) throw cause;
    throw new MetadataError(
      `Expected a document of at most ${LONGEST_DOCUMENT} bytes, found ${
        cause.size ?? "more"
      }`,
      "",
      { document: key, store: describeStore(store), cause },
    );
  }
}

/** Whether a store has a metadata document. */
export async function hasDocument(
  store: Store,
  key: StoreKey,
  options?: StoreOptions,
): Promise<boolean> {
  return await backendOf(store).size(key, options) !== undefined;
}
