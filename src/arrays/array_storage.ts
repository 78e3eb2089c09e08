import { hasGroups } from "../stores/has_groups.ts";
import type { ChunkKeyEncoding } from "../chunk_key_encoding/chunk_key_encoding.ts";
import { ChunkKeyError } from "../chunk_key_encoding/chunk_key_error.ts";
import { parseEncoding } from "../chunk_key_encoding/parse_encoding.ts";
import { innermostEncoding } from "../chunk_key_encoding/suffix_chunk_key_encoding.ts";
import { applyParts } from "../concat_parts/composed_store.ts";
import { checkConfiguration } from "../concat_parts/part_schema.ts";
import { assertPartKeys, sampleKeys } from "../concat_parts/part_keys.ts";
import {
  type ArrayMetadata,
  type MetadataForm,
  parseArrayMetadata,
} from "../metadata/array_metadata.ts";
import { describe } from "../metadata/describe.ts";
import { parseExtension } from "../metadata/extension.ts";
import {
  atPath,
  below,
  MetadataError,
  pointer,
} from "../metadata/metadata_error.ts";
import { parseShardLayout } from "../shards/shard_layout.ts";
import type { Part } from "../splitter/part.ts";
import type { Store } from "../stores/store.ts";
import { chunkKeyProblem } from "../stores/store_key.ts";

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
   * @param options `isComplete`: `false` for metadata that is yet to be completed, whose
   * data type, fill value and codecs are checked then.
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
        const encoding = parseEncoding(metadata.chunk_key_encoding);
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

  /** Decodes a chunk key; returns `undefined` for keys of no chunk in the grid. */
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
   * of parts. Shards in one object are changed by groups, too, since others may change
   * inner chunks of them.
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

  /** The parts of a chunk, those of each part, and so on; empty for chunks of one object. */
  get layers(): (readonly Part[])[] {
    return this.transformers.filter((parts) => parts !== undefined);
  }

  get #isSharded(): boolean {
    const codecs: unknown = this.metadata.codecs; // They are not checked.
    return Array.isArray(codecs) &&
      codecs.some((codec) => codec?.name === "sharding_indexed");
  }
}

/**
 * Checks the shards of chunks, and those that are nested in them. A codec before them may
 * change their shape, so that they are not known then.
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

/** Throws if a template is not for the array's dimensions, or not for as many chunks. */
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
