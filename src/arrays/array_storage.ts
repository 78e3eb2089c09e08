import {
  type ChunkKeyEncoding,
  innermostEncoding,
  parseChunkKeyEncoding,
} from "../chunk_key_encoding/mod.ts";
import {
  applyParts,
  assertPartKeys,
  checkConfiguration,
  flattenLayers,
  sampleKeys,
} from "../concat_parts/mod.ts";
import {
  atPath,
  below,
  ChunkKeyError,
  describe,
  MetadataError,
  pointer,
} from "../errors/mod.ts";
import {
  type ArrayMetadata,
  type MetadataForm,
  parseArrayMetadata,
  parseExtension,
} from "../metadata/mod.ts";
import { parseShardLayout } from "../shards/mod.ts";
import type { Part } from "../splitter/mod.ts";
import {
  chunkKeyProblem,
  hasGroups,
  keyProblem,
  type Store,
  type StoreKey,
} from "../stores/mod.ts";

/** How an array's chunks are stored: the chunk grid, the keys and the parts. */
export class ArrayStorage {
  readonly metadata: ArrayMetadata;
  /** The shape of a stored chunk, in elements. */
  readonly chunkShape: readonly number[];
  /** The number of chunks along each dimension. */
  readonly gridShape: readonly number[];
  readonly keyEncoding: ChunkKeyEncoding;
  /** The parts of each storage transformer; `undefined` for a transformer that is skipped. */
  readonly transformers: readonly (readonly Part[] | undefined)[];

  /**
   * @param document The array's metadata, which is checked here.
   * @param options `isComplete`: `false` for metadata that is completed later, when its
   * data type, fill value and codecs are checked.
   * @throws {MetadataError} If the metadata is not valid or not understood.
   */
  constructor(document: unknown, options: MetadataForm = {}) {
    const { metadata, chunkShape, gridShape } = parseArrayMetadata(
      document,
      options,
    );
    this.metadata = metadata;
    this.chunkShape = chunkShape;
    this.gridShape = gridShape;
    if (options.isComplete !== false) {
      checkShards(metadata.codecs, chunkShape, "/codecs/0");
    }
    this.keyEncoding = below(
      "/chunk_key_encoding",
      () => {
        const encoding = parseChunkKeyEncoding(metadata.chunk_key_encoding);
        assertKeysFor(encoding, gridShape);
        for (const key of sampleKeys(encoding, gridShape.length)) {
          assertChunkKey(key);
        }
        return encoding;
      },
    );
    const transformers = below("/storage_transformers", () => {
      const parsed = (metadata.storage_transformers ?? []).map((
        member,
        i,
      ) => below(pointer("", i), () => parseTransformer(member)));
      assertPartKeys(parsed, this.keyEncoding, gridShape.length);
      return parsed;
    });
    this.transformers = transformers;
  }

  /** Decodes the key of a chunk in the grid; returns `undefined` for any other key. */
  coordinatesOf(key: string): number[] | undefined {
    const { gridShape, keyEncoding } = this;
    try {
      const coordinates = keyEncoding.decode(key, gridShape.length);
      return coordinates.every((c, i) => c < gridShape[i]!)
        ? coordinates
        : undefined;
    } catch (error) {
      if (error instanceof ChunkKeyError) return undefined;
      throw error;
    }
  }

  /**
   * Applies the storage transformers: returns a store of whole chunks over a store
   * of parts. In a store with groups, shards of one object are also read and written
   * through groups, since other programs may change their inner chunks at the same time.
   *
   * @param root The prefix of the array's keys, without a last `/`.
   */
  transform(store: Store, root: string): Store {
    const { layers } = this;
    const isPlain = layers.length === 0 &&
      (!this.#isSharded || !hasGroups(store));
    return isPlain ? store : applyParts(layers, store, {
      isChunkKey: (key) =>
        key.startsWith(`${root}/`) &&
        this.coordinatesOf(key.slice(root.length + 1)) !== undefined,
    });
  }

  /** The parts of a chunk, the parts of each part, and so on; empty for chunks of one object. */
  get layers(): (readonly Part[])[] {
    return this.transformers.filter((parts) => parts !== undefined);
  }

  get #isSharded(): boolean {
    const codecs: unknown = this.metadata.codecs; // Not checked in incomplete metadata.
    return Array.isArray(codecs) &&
      codecs.some((codec) => codec?.name === "sharding_indexed");
  }
}

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

/** Parses the metadata of an array, as the constructor of {@linkcode ArrayStorage} does. */
export function storageOf(
  metadata: unknown,
  options?: MetadataForm,
): ArrayStorage {
  return new ArrayStorage(metadata, options);
}

/** The part of a chunk that has no size. */
interface UnsizedPart {
  readonly keySuffix: string;
  /** Where the part begins in the chunk: the size of all head parts in bytes. */
  readonly offset: number;
  /** The size of all parts after it in bytes; `undefined` if one of them has no size. */
  readonly tailSize: number | undefined;
}

/**
 * Finds the first unsized part of a chunk; `undefined` if every part has a size, or if
 * the chunk lies in parts whose sizes are known only together.
 *
 * @param layers The parts of a chunk, the parts of each part, and so on.
 */
export function unsizedPart(
  layers: readonly (readonly Part[])[],
): UnsizedPart | undefined {
  const { parts, sums } = flattenLayers(layers);
  const place = parts.findIndex(({ size }) => size === undefined);
  if (place < 0 || sums.length > 0) return undefined;
  const { keySuffix } = parts[place]!;
  const offset = sizeTogether(parts.slice(0, place))!;
  return { keySuffix, offset, tailSize: sizeTogether(parts.slice(place + 1)) };
}

/** Returns the size of parts together; `undefined` if one of them has no size. */
export function sizeTogether(parts: readonly Part[]): number | undefined {
  return parts.reduce<number | undefined>(
    (sum, { size }) =>
      size === undefined || sum === undefined ? undefined : sum + size,
    0,
  );
}

/**
 * Checks the metadata of shards, and of shards that are nested in them. Shards behind
 * another codec are not checked, since the codec may change the shape of a chunk.
 */
function checkShards(
  [codec]: readonly unknown[],
  chunkShape: readonly number[],
  path: string,
): void {
  if (codec === undefined) return;
  const { name, configuration } = parseExtension(codec, "codec");
  if (name !== "sharding_indexed") return;
  below(path, () => parseShardLayout(codec, chunkShape));
  const { codecs, chunk_shape } = configuration as {
    codecs: unknown[];
    chunk_shape: number[];
  };
  checkShards(codecs, chunk_shape, `${path}/configuration/codecs/0`);
}

/** Refuses a template that does not have a key for each chunk of the grid. */
function assertKeysFor(
  encoding: ChunkKeyEncoding,
  gridShape: readonly number[],
): void {
  // A registered encoding may have no key for some chunks.
  if (innermostEncoding(encoding).name !== "template") return;
  const last = gridShape.map((count) => Math.max(count - 1, 0));
  atPath("", () => encoding.encode(last));
}

function assertChunkKey(key: string): void {
  const problem = chunkKeyProblem(key);
  if (problem === undefined) return;
  throw new MetadataError(`The chunk key ${describe(key)} ${problem}`);
}

/** Parses a storage transformer; returns `undefined` for an unknown one that may be skipped. */
function parseTransformer(member: unknown): Part[] | undefined {
  const { name, configuration, mustUnderstand } = parseExtension(
    member,
    "storage transformer",
  );
  if (name === "concat-parts") {
    return below("/configuration", () => checkConfiguration(configuration));
  }
  if (!mustUnderstand) return undefined;
  throw new MetadataError(
    `Unknown storage transformer ${describe(name)}; known is "concat-parts"`,
    typeof member === "string" ? "" : "/name",
  );
}
