import {
  type FileRecoding,
  LARGEST_FILE,
  parseArray,
  parseShardFiles,
  RECODING_RULES,
  storedEncoding,
  withoutStorage,
} from "../arrays/mod.ts";
import { checkOptions } from "../errors/mod.ts";
import { type ArrayMetadata, coreDataType } from "../metadata/mod.ts";

/** The most inner chunks whose index can be the comment of a zip. */
const MOST_ENTRIES = 4095;
/** The length of elements that have no fixed one, such as texts. */
const USUAL_LENGTH = 16;

/**
 * Finds the shards nearest to those of an array that can be zip files by
 * {@linkcode zipContainer}. It has the form of the option `recode` of `convert`.
 *
 * A zip needs shards with their index at the end and no codecs after it. Codecs and inner
 * chunks stay as they are. Chunks of an array without shards become inner chunks of files of
 * up to 64 MiB before compression and 4095 entries, along the last dimensions first.
 *
 * @param metadata The metadata of the array.
 * @param options Codecs and shapes in place of those found.
 * @returns The shapes of inner chunks and shards; `undefined` if the shards of the array can
 * be zip files as they are.
 * @throws {MetadataError} If the metadata is not valid.
 * @throws {TypeError} If an option is unknown or of a wrong type.
 *
 * @example
 * ```ts
 * import { arrayMetadata } from "@zarr-parts/zarr-parts";
 * import { fitZip } from "@zarr-parts/zarr-parts/zip";
 * import { assertEquals } from "@std/assert";
 *
 * const metadata = arrayMetadata({
 *   shape: [365, 720, 1440],
 *   dataType: "float32",
 *   chunkShape: [1, 90, 90],
 *   codecs: ["gzip"],
 * });
 * assertEquals(fitZip(metadata), { chunks: [1, 90, 90], shards: [16, 720, 1440] });
 * ```
 */
export function fitZip(
  metadata: ArrayMetadata,
  options: FileRecoding = {},
): FileRecoding | undefined {
  checkOptions(options, RECODING_RULES, "fitZip");
  const { codecs, chunks, shards } = options;
  const parsed = parseArray(metadata);
  const array = parsed.metadata;
  const stored = storedEncoding(parsed);
  const isAsked = [codecs, chunks, shards].some((each) => each !== undefined);
  if (!isAsked && isFitting(array)) return undefined;
  const chunk = chunks ?? stored.chunk;
  return {
    ...codecs !== undefined && { codecs },
    chunks: [...chunk],
    shards: [
      ...shards ??
        stored.shard?.map((length, i) => upTo(length, chunk[i] ?? 1)) ??
        joined(array, chunk),
    ],
  };
}

function isFitting(metadata: ArrayMetadata): boolean {
  try {
    parseShardFiles(withoutStorage(metadata), {
      name: "zip",
      pieces: "entries",
    });
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

function upTo(length: number, step: number): number {
  return Math.ceil(length / step) * step;
}

/** Joins chunks along the last dimensions first, as far as a file keeps small. */
function joined(
  { shape, data_type }: ArrayMetadata,
  chunk: readonly number[],
): number[] {
  const bits = coreDataType(String(data_type))?.bits ?? 8 * USUAL_LENGTH;
  const size = chunk.reduce((product, length) => product * length, bits / 8);
  let most = Math.min(MOST_ENTRIES, Math.floor(LARGEST_FILE / size));
  const shard = [...chunk];
  for (let axis = chunk.length - 1; axis >= 0; axis--) {
    const count = Math.ceil(shape[axis]! / chunk[axis]!);
    const fitting = Math.max(1, Math.min(count, most));
    // Files of about equal length, and none of a few elements.
    const even = Math.ceil(count / Math.ceil(count / fitting)) || 1;
    shard[axis] = chunk[axis]! * even;
    most = Math.floor(most / even);
  }
  return shard;
}
