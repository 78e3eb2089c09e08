import type { ChunkKeyEncoding } from "../../chunk_key_encoding/chunk_key_encoding.ts";
import type {
  ArrayMetadata,
  NamedConfiguration,
} from "../../metadata/array_metadata.ts";
import type { ShardContainer } from "../../shards/shard_container.ts";
import type { Part } from "../../splitter/part.ts";

/**
 * The layout that `convert` gives to arrays. What no option names stays as it is.
 *
 * @example Shards that end in `.shard`, with their index in a file of its own
 * ```ts
 * import type { LayoutOptions } from "@zarr-parts/zarr-parts/jobs";
 *
 * const layout: LayoutOptions = { suffix: ".shard", parts: ["", ".index"] };
 * ```
 */
export interface LayoutOptions {
  /**
   * The chunk key encoding: a name such as `"v2"`, its metadata, or an instance such
   * as a `TemplateChunkKeyEncoding`. It replaces the encoding of the source with all of
   * its suffixes.
   */
  readonly keyEncoding?:
    | string
    | NamedConfiguration
    | ChunkKeyEncoding
    | undefined;
  /**
   * The text at the end of every chunk key, such as `".tiff"`, in place of the suffixes
   * of the source. The empty text removes them.
   */
  readonly suffix?: string | undefined;
  /**
   * The parts that each chunk is stored in, as `arrayMetadata` takes them:
   * `[".header:64", "", ".index"]`. The sizes of `.index` and `.crc32c` follow from the
   * codecs. An empty list stores each chunk as one object.
   */
  readonly parts?: readonly (string | Part)[] | undefined;
  /** Whether arrays become plain: with `default` keys and without parts, for any Zarr reader. */
  readonly plain?: boolean | undefined;
  /**
   * The whole metadata of the array, or a function that returns it for each array. It
   * may differ from that of the source in everything but the shape, the data type, the
   * fill value, the chunk grid and the codecs, since the bytes of chunks are not changed.
   */
  readonly metadata?:
    | ArrayMetadata
    | ((metadata: ArrayMetadata, path: string) => ArrayMetadata)
    | undefined;
  /**
   * Puts the bytes of a file format around the inner chunks of each shard:
   * `tiffContainer` or `zipContainer`, or a function that calls one of them with
   * options. Called with the new metadata of each array and its path; an array for which
   * it returns `undefined` keeps its shards as they are. Each shard is held in memory.
   */
  readonly container?:
    | ((
      metadata: ArrayMetadata,
      path: string,
    ) => ((shard: readonly number[]) => ShardContainer) | undefined)
    | undefined;
  /**
   * Whether an array gets the new layout, by its metadata and its path. An array for
   * which this returns `false` keeps the layout that it has.
   */
  readonly where?:
    | ((metadata: ArrayMetadata, path: string) => boolean)
    | undefined;
}
