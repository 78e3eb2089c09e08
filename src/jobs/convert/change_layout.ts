import {
  assertStorable,
  parseArray,
  type ParsedArray,
  resolveParts,
} from "../../arrays/mod.ts";
import {
  type ChunkKeyEncoding,
  innermostEncoding,
  SuffixChunkKeyEncoding,
  toChunkKeyEncoding,
} from "../../chunk_key_encoding/mod.ts";
import { ConcatParts } from "../../concat_parts/mod.ts";
import {
  ANY,
  BOOLEAN,
  describe,
  FUNCTION,
  MetadataError,
  type OptionRules,
  sentence,
} from "../../errors/mod.ts";
import {
  type ArrayMetadata,
  isSameJson,
  type NamedConfiguration,
} from "../../metadata/mod.ts";
import type { ShardContainer } from "../../shards/mod.ts";
import { chunkSizes, type Part } from "../../splitter/mod.ts";
import { PLAIN } from "../../views/mod.ts";
import { type NodeLocation, writtenOut } from "../../hierarchy/mod.ts";
import {
  assertRecoding,
  recodedMetadata,
  type Recoding,
} from "../recode/recoding.ts";

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
   * Another encoding of the elements: other codecs, and other shapes of chunks and shards.
   * Or a function that gives that of an array by its metadata and its path; an array for
   * which it returns `undefined` keeps its encoding. Chunks are decoded and encoded again
   * only if the encoding changes. All other options apply to the new metadata.
   */
  readonly recode?:
    | Recoding
    | ((metadata: ArrayMetadata, path: string) => Recoding | undefined)
    | undefined;
  /**
   * The whole metadata of the array, or a function that returns it for each array. It
   * may differ from that of the source in everything but the shape, the data type, the
   * fill value, the chunk grid and the codecs: `recode` changes these two.
   */
  readonly metadata?:
    | ArrayMetadata
    | ((metadata: ArrayMetadata, path: string) => ArrayMetadata)
    | undefined;
  /**
   * Puts the bytes of a file format around the inner chunks of each shard:
   * `tiffContainer` or `zipContainer`, or a function that calls one of them with
   * options. Called with the new metadata of each array, its path below the converted node,
   * and its place in the source; an array for which it returns `undefined` keeps its shards
   * as they are. Each shard is held in memory.
   */
  readonly container?:
    | ((
      metadata: ArrayMetadata,
      path: string,
      source: NodeLocation & { readonly path: string },
    ) =>
      | ((shard: readonly number[]) => ShardContainer)
      | Promise<((shard: readonly number[]) => ShardContainer) | undefined>
      | undefined)
    | undefined;
  /**
   * Whether an array gets the new layout, by its metadata and its path. An array for
   * which this returns `false` keeps the layout that it has.
   */
  readonly where?:
    | ((metadata: ArrayMetadata, path: string) => boolean)
    | undefined;
}

/** The rules of the options that say how chunks are stored. */
export const LAYOUT_OPTIONS: OptionRules<LayoutOptions> = {
  keyEncoding: ANY,
  suffix: ANY,
  parts: ANY,
  plain: BOOLEAN,
  recode: {
    expected: "an object, or a function",
    isValid: (value) =>
      typeof value === "function" || typeof value === "object" &&
        value !== null && !Array.isArray(value),
  },
  metadata: ANY,
  container: FUNCTION,
  where: FUNCTION,
};

/** Throws if two options say how chunks are stored. */
export function assertLayout(options: LayoutOptions): void {
  if (typeof options.recode === "object") assertRecoding(options.recode);
  const { metadata, plain } = options;
  const parts = (["keyEncoding", "suffix", "parts"] as const)
    .filter((name) => options[name] !== undefined);
  const [one, other] = [
    ...metadata === undefined ? [] : ["metadata"],
    ...plain ? ["plain"] : [],
    ...metadata !== undefined || plain ? parts : [],
  ];
  if (other === undefined) return;
  throw new RangeError(
    sentence`Options ${one} and ${other} both say how chunks are stored; expected one of them`,
  );
}

/** An error about metadata that options give to an array, and not about that of the source. */
export class LayoutError extends MetadataError {}

/**
 * Gives an array another layout.
 *
 * @param path The array's path, for a function in the options.
 * @returns The array with the new metadata; the same object if nothing changes.
 * @throws {LayoutError} If the new metadata is not valid, or describes other chunks.
 * @throws {RangeError} If the parts do not fit the codecs, or the recoding does not fit the
 * array.
 */
export function changeLayout(
  array: ParsedArray,
  path: string,
  options: LayoutOptions,
): ParsedArray {
  const { metadata } = array;
  const { recode } = options;
  if (options.where?.(metadata, path) === false) return array;
  try {
    const recoding = typeof recode === "function"
      ? recode(metadata, path)
      : recode;
    const recoded = recoding ? recodedMetadata(array, recoding) : metadata;
    const changedMembers = changedMetadata(recoded, path, options);
    if (isSameJson(changedMembers, metadata)) return array;
    const changed = parseArray(changedMembers);
    assertSameChunks(changed.metadata, recoded);
    assertStorable(changed);
    chunkSizes(changed.parts); // Throws if more than one part has no size.
    return changed;
  } catch (error) {
    if (!(error instanceof MetadataError)) throw error;
    const array = `/${path}`;
    const what = sentence`Cannot give array ${array} this layout`;
    // The place of the problem says something only about metadata that the caller has written.
    const at = options.metadata === undefined ? "" : error.path;
    throw new LayoutError(`${what}: ${error.problem}`, at, { cause: error });
  }
}

function changedMetadata(
  metadata: ArrayMetadata,
  path: string,
  options: LayoutOptions,
): ArrayMetadata {
  if (typeof options.metadata === "function") {
    return options.metadata(metadata, path);
  }
  if (options.metadata !== undefined) return options.metadata;
  if (options.plain) return PLAIN.toShown(metadata) as ArrayMetadata;
  const { keyEncoding, suffix, parts } = options;
  let changed = metadata;
  if (keyEncoding !== undefined || suffix !== undefined) {
    const base = keyEncoding === undefined
      ? innermostEncoding(toChunkKeyEncoding(metadata.chunk_key_encoding))
      : toChunkKeyEncoding(keyEncoding);
    const encoding = suffix === undefined || suffix === ""
      ? base
      : new SuffixChunkKeyEncoding(suffix, base);
    changed = { ...changed, chunk_key_encoding: encoding.toJSON() };
  }
  if (parts !== undefined) {
    const { storage_transformers: _, ...rest } = changed;
    const resolved = resolveParts(parts, parseArray(rest).chunk);
    changed = resolved.length === 0
      ? rest
      : { ...rest, storage_transformers: [new ConcatParts(resolved).toJSON()] };
  }
  return changed;
}

/** The members that the bytes of chunks depend on. */
const OF_CHUNKS = ["shape", "data_type", "chunk_grid", "codecs", "fill_value"];

/** Throws if the metadata describes other elements than that of the source. */
function assertSameChunks(changed: ArrayMetadata, metadata: ArrayMetadata) {
  for (const name of OF_CHUNKS) {
    const [before, after] = [metadata, changed].map((each) =>
      writtenOutAll((each as unknown as Record<string, unknown>)[name])
    );
    if (isSameJson(before, after)) continue;
    // A source without a fill value may be given one.
    if (name === "fill_value" && before === undefined) continue;
    throw new MetadataError(
      `Expected the ${name} of the source, since chunks are copied as they are encoded, found ${
        describe((changed as unknown as Record<string, unknown>)[name])
      }`,
      `/${name}`,
    );
  }
}

function writtenOutAll(value: unknown): unknown {
  return Array.isArray(value) ? value.map(writtenOut) : writtenOut(value);
}
