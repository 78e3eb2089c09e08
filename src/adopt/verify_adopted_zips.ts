import { parsedArrayOf, shardOf } from "../arrays/mod.ts";
import { crc32 } from "../checksum/mod.ts";
import { describe, MetadataError } from "../errors/mod.ts";
import {
  type ArrayMetadata,
  isSameJson,
  type NamedConfiguration,
} from "../metadata/mod.ts";
import type { ShardIndex } from "../shards/mod.ts";
import {
  readRange,
  type Store,
  type StoreKey,
  type StoreOptions,
} from "../stores/mod.ts";
import { MismatchError } from "./adopted_index.ts";
import {
  type AdoptedVerification,
  type FileToVerify,
  verifyFiles,
} from "./verify_adoption.ts";
import {
  differentMember,
  indexOf,
  memberText,
  readZippedArray,
  type ZippedArray,
} from "../zip/mod.ts";

/**
 * Reads the directories of all files of an adopted array again, and compares them with
 * the indexes that `adoptZip` wrote.
 *
 * A file that was written anew needs a new index, since its entries may lie elsewhere.
 * Readers notice a file of another length by themselves, except over HTTP. This
 * function also finds files of the same length whose entries lie elsewhere, or whose
 * array has become another one. Files whose entries have the same places have the right
 * index, whatever the entries hold.
 *
 * @param store The store that holds the array.
 * @param path The array's path in the store; empty for the root.
 * @param options `signal` aborts the reading.
 * @returns The files whose indexes are not right. `adoptZip` with `overwrite: true`
 * makes new ones.
 * @throws {MetadataError} If there is no array, or its metadata is not valid.
 *
 * @example
 * ```ts
 * import { arrayMetadata, encodeShard, MemoryStore, parseShardLayout } from "@zarr-parts/zarr-parts";
 * import { adoptZip, verifyAdoptedZip, zipContainer } from "@zarr-parts/zarr-parts/zip";
 * import { assertEquals } from "@std/assert";
 *
 * const metadata = arrayMetadata({ shape: [4], dataType: "uint8", shardShape: [4], chunkShape: [2] });
 * const layout = parseShardLayout(metadata.codecs[0], [4]);
 * const makeZip = (...chunks: number[][]) =>
 *   encodeShard(chunks.map((chunk) => new Uint8Array(chunk)), layout, {
 *     container: zipContainer(metadata, { zarrJson: "first" })([0]),
 *   });
 *
 * const store = new MemoryStore([["/c/0.zip", makeZip([1], [2, 3])]]);
 * await adoptZip(store, "");
 * assertEquals((await verifyAdoptedZip(store, "")).mismatches, []);
 *
 * await store.set("/c/0.zip", makeZip([1, 2], [3])); // Another program writes it anew.
 * const { mismatches } = await verifyAdoptedZip(store, "");
 * assertEquals(mismatches.map(({ key }) => key), ["/c/0.zip"]);
 * ```
 */
export async function verifyAdoptedZip(
  store: Store,
  path: string,
  options: StoreOptions = {},
): Promise<AdoptedVerification> {
  return await verifyFiles(store, path, options, makeZipIndex);
}

/**
 * Compares the CRC-32 of the entries of an adopted array with those in the directory of the
 * zip.
 *
 * @param contents The number of the array in the zip.
 * @returns A sentence for each entry that was changed.
 */
export async function* wrongEntries(
  store: Store,
  key: StoreKey,
  contents: number,
  options: StoreOptions,
): AsyncGenerator<string> {
  const zip = await readZippedArray(store, key, contents, options);
  const hex = (number: number) => number.toString(16).padStart(8, "0");
  for (const { key: entry, extent, checksum } of zip.extents) {
    const bytes = await readRange(store, key, extent, options);
    const found = crc32(bytes ?? new Uint8Array());
    if (found === checksum) continue;
    yield `Entry ${describe(entry.slice(1))} of file ${
      describe(key)
    } has the CRC-32 ${hex(found)}, where the directory of the zip says ${
      hex(checksum)
    }: it was changed after it was written; get the file again`;
  }
}

/** Makes the index of an adopted zip anew. */
export async function makeZipIndex(
  store: Store,
  file: FileToVerify,
  options: StoreOptions,
): Promise<ShardIndex> {
  const { key, contents, chunks } = file;
  const zip = await readZippedArray(store, key, contents, options)
    .catch((error) => {
      if (!(error instanceof MetadataError)) throw error;
      throw new MismatchError(error.message, { cause: error });
    });
  assertSame(zip, file);
  return indexOf(zip, shardOf(parsedArrayOf(chunks)).layout);
}

/** Refuses a file that is not a shard of its array any more. */
function assertSame(
  { metadata }: ZippedArray,
  { coordinates, chunks }: FileToVerify,
): void {
  const { metadata: array, chunkShape, innerChunkShape } = chunks;
  const shape = chunkShape.map((length, i) =>
    Math.min(length, array.shape[i]! - coordinates[i]! * length)
  );
  if (!isSameJson(metadata.shape, shape)) {
    throw new MismatchError(
      `the file has an array of the shape ${
        describe(metadata.shape)
      }, where its shard has ${describe(shape)}`,
    );
  }
  const [sharding] = array.codecs as readonly NamedConfiguration[];
  const expected = {
    ...array,
    chunk_grid: {
      name: "regular",
      configuration: { chunk_shape: innerChunkShape! },
    },
    codecs: sharding!.configuration!.codecs as ArrayMetadata["codecs"],
  };
  const different = differentMember(metadata, expected);
  if (different === undefined) return;
  throw new MismatchError(
    `the file has an array with the ${different} ${
      memberText(metadata[different])
    }, where the array has ${memberText(expected[different])}`,
  );
}
