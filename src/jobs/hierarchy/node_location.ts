import { arrayRoot } from "../../arrays/mod.ts";
import { toChunkKeyEncoding } from "../../chunk_key_encoding/mod.ts";
import { describe } from "../../errors/mod.ts";
import {
  isArrayDocument,
  isMembers,
  isSameJson,
  type Members,
} from "../../metadata/mod.ts";
import {
  assertStore,
  describeStore,
  type Store,
  type StoreKey,
} from "../../stores/mod.ts";

/**
 * The place of an array or a group: a store and a path in it. The locations of zarrita
 * are such places.
 *
 * @example
 * ```ts
 * import { MemoryStore } from "@zarr-parts/zarr-parts";
 * import type { NodeLocation } from "@zarr-parts/zarr-parts/jobs";
 *
 * const location: NodeLocation = { store: new MemoryStore(), path: "temperature/monthly" };
 * ```
 */
export interface NodeLocation {
  /** The store that holds the node. */
  readonly store: Store;
  /** The node's path in the store, such as `temperature/monthly`. Default: the root. */
  readonly path?: string | undefined;
}

/** The place of a node, checked. */
export interface Place {
  readonly store: Store;
  /** The prefix of the node's keys, without a last `/`. */
  readonly root: "" | StoreKey;
}

/**
 * Checks a store or a location.
 *
 * @throws {TypeError} If it is neither, or the path is not a string.
 * @throws {RangeError} If the path is not names joined by `/`.
 */
export function placeOf(location: Store | NodeLocation): Place {
  const isLocation = typeof location === "object" && location !== null &&
    "store" in location && !("get" in location);
  const { store, path = "" } = isLocation
    ? location
    : { store: location as Store };
  assertStore(store);
  return { store, root: arrayRoot(path) };
}

/** Names a place in messages. */
export function describePlace({ store, root }: Place): string {
  return `${describe(root || "/")} in ${describeStore(store)}`;
}

/** The path of a node below a place as a path in the store. */
export function pathIn({ root }: Place, path: string): string {
  return `${root}${path === "" ? "" : `/${path}`}`.slice(1);
}

/** The key of a node's document. */
export function documentKey({ root }: Place, path: string): StoreKey {
  return `${root}${path === "" ? "" : `/${path}`}/zarr.json` as StoreKey;
}

/**
 * Whether two documents of a node have the same meaning. zarr-python writes the defaults
 * out in consolidated metadata, also those that the node's own document leaves out.
 */
export function isSameDocument(a: unknown, b: unknown): boolean {
  return isSameJson(a, b) || isSameJson(withDefaults(a), withDefaults(b));
}

/** A document with the members that it may leave out. */
function withDefaults(document: unknown): unknown {
  if (!isMembers(document)) return document;
  const whole: Members = { attributes: {}, ...document };
  return !isArrayDocument(whole) ? whole : {
    storage_transformers: [],
    dimension_names: null,
    ...whole,
    chunk_key_encoding: writtenOutEncoding(whole.chunk_key_encoding),
    data_type: writtenOut(whole.data_type),
    codecs: writtenOutCodecs(whole.codecs),
  };
}

function writtenOutEncoding(encoding: unknown): unknown {
  try {
    return toChunkKeyEncoding(encoding as string).toJSON();
  } catch {
    return encoding; // An encoding that this package does not know has no known defaults.
  }
}

/** Writes the short-hand of an extension out. */
export function writtenOut(extension: unknown): unknown {
  if (typeof extension === "string") return { name: extension };
  if (!isMembers(extension)) return extension;
  const { configuration, ...rest } = extension;
  const isEmpty = configuration === undefined ||
    isMembers(configuration) && Object.keys(configuration).length === 0;
  return isEmpty ? rest : extension;
}

function writtenOutCodecs(codecs: unknown): unknown {
  if (!Array.isArray(codecs)) return codecs;
  return codecs.map(writtenOut).map((codec) => {
    if (!isMembers(codec) || codec.name !== "sharding_indexed") return codec;
    const { codecs, index_codecs, ...configuration } = codec
      .configuration as Members;
    return {
      ...codec,
      configuration: {
        index_location: "end",
        ...configuration,
        codecs: writtenOutCodecs(codecs),
        index_codecs: writtenOutCodecs(index_codecs),
      },
    };
  });
}
