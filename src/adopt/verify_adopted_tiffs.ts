import { describe } from "../errors/mod.ts";
import { type ArrayMetadata, isSameJson } from "../metadata/mod.ts";
import type { ShardIndex } from "../shards/mod.ts";
import type { Store, StoreOptions } from "../stores/mod.ts";
import { MismatchError } from "./adopted_index.ts";
import {
  type AdoptedVerification,
  type FileToVerify,
  verifyFiles,
} from "./verify_adoption.ts";
import {
  bandsFirst,
  decodeSelection,
  readShard,
  stacked,
  type TiffShard,
  withRows,
} from "../tiff/mod.ts";
import { indexOf, metadataOf } from "./tiffs_to_adopt.ts";

/**
 * Reads the directories of all files of an adopted array again, and compares them with
 * the indexes that `adoptTiffs` wrote.
 *
 * A file that was written anew needs a new index, since its tiles may lie elsewhere.
 * Readers notice most files of another length by themselves. This function also finds
 * files of the same length whose tiles lie elsewhere. Files whose tiles have the same
 * places have the right index, whatever the tiles hold.
 *
 * @param store The store that holds the array.
 * @param path The array's path in the store; empty for the root.
 * @param options `signal` aborts the reading.
 * @returns The files whose indexes are not right. `adoptTiffs` with `overwrite: true`
 * makes new ones.
 * @throws {MetadataError} If there is no array, or its metadata is not valid.
 *
 * @example
 * ```ts
 * import { MemoryStore } from "@zarr-parts/zarr-parts";
 * import { adoptTiffs, verifyAdopted } from "@zarr-parts/zarr-parts/tiff";
 * import { assertEquals } from "@std/assert";
 *
 * // A TIFF of 1 × 2 bytes in one strip, at byte 8.
 * const entries = [[256, 2], [257, 1], [258, 8], [273, 8], [279, 2]];
 * const tiff = new Uint8Array(12 + 2 + entries.length * 12 + 4);
 * const view = new DataView(tiff.buffer);
 * tiff.set([0x49, 0x49, 42, 0, 12]);
 * view.setUint16(12, entries.length, true);
 * entries.forEach(([tag, value], i) => {
 *   view.setUint16(14 + i * 12, tag!, true);
 *   view.setUint16(16 + i * 12, 4, true);
 *   view.setUint32(18 + i * 12, 1, true);
 *   view.setUint32(22 + i * 12, value!, true);
 * });
 *
 * const store = new MemoryStore([["/c/0/0.tif", tiff]]);
 * await adoptTiffs(store, "");
 * assertEquals((await verifyAdopted(store, "")).mismatches, []);
 *
 * view.setUint32(22 + 3 * 12, 10, true); // Another program writes the strip elsewhere.
 * await store.set("/c/0/0.tif", tiff);
 * assertEquals((await verifyAdopted(store, "")).mismatches, [{
 *   key: "/c/0/0.tif",
 *   reason: "inner chunk 0 has 2 bytes from 10 on, where its index has 2 bytes from 8 on",
 * }]);
 * ```
 */
export async function verifyAdopted(
  store: Store,
  path: string,
  options: StoreOptions = {},
): Promise<AdoptedVerification> {
  return await verifyFiles(store, path, options, makeTiffIndex);
}

/** Makes the index of an adopted TIFF anew. */
export async function makeTiffIndex(
  store: Store,
  file: FileToVerify,
  options: StoreOptions,
): Promise<ShardIndex> {
  const { contents, chunks: { chunkShape, innerChunkShape } } = file;
  const selection = decodeSelection(contents);
  const shard = fitted(await readShard(store, file, selection, options), file);
  assertSame(shard, file);
  const chunksPerShard = chunkShape.map((n, i) => n / innerChunkShape![i]!);
  return indexOf(shard, chunksPerShard);
}

/** Gives a shard the dimensions and the rows that `adoptTiffs` gave it. */
function fitted(
  shard: TiffShard,
  { chunks: { metadata, chunkShape, innerChunkShape } }: FileToVerify,
): TiffShard {
  const count = chunkShape.length - shard.shape.length;
  const placed = stacked(shard, Math.max(count, 0));
  const y = placed.dimensionNames.indexOf("y");
  // No codec of a TIFF is `transpose`, which puts bands before rows.
  const areBandsFirst = placed.dimensionNames.at(-1) === "band" &&
    innerCodecsOf(metadata)[0]?.name === "transpose";
  const rows = innerChunkShape?.[areBandsFirst ? y + 1 : y] ?? 0;
  const fitted = withRows(placed, rows) ?? placed;
  return areBandsFirst ? bandsFirst(fitted) ?? fitted : fitted;
}

/** The codecs of inner chunks. */
function innerCodecsOf(
  { codecs: [sharding] }: ArrayMetadata,
): readonly { readonly name?: string }[] {
  const { codecs } = Object(Object(sharding).configuration);
  return Array.isArray(codecs) ? codecs : [];
}

/** Refuses a file that is not a shard of its array any more. */
function assertSame(
  shard: TiffShard,
  { coordinates, chunks }: FileToVerify,
): void {
  const { metadata, chunkShape, innerChunkShape, keyEncoding } = chunks;
  const shape = metadata.shape.map((length, i) =>
    Math.min(chunkShape[i]!, length - coordinates[i]! * chunkShape[i]!)
  );
  const same = (what: string, found: unknown, expected: unknown) => {
    if (isSameJson(found, expected)) return;
    throw new MismatchError(
      `the file has the ${what} ${describe(found)}, where the array has ${
        describe(expected)
      }`,
    );
  };
  same("shape", shard.shape, shape);
  same("shape of tiles", shard.tileShape, innerChunkShape);
  const chunksPerShard = chunkShape.map((n, i) => n / innerChunkShape![i]!);
  const mosaic = { shape: chunkShape, shardShape: chunkShape, chunksPerShard };
  const expected = metadataOf(shard, mosaic, keyEncoding, {});
  same("data type", expected.data_type, metadata.data_type);
  if (!isSameJson(expected.codecs, metadata.codecs)) {
    throw new MismatchError(
      "the file has tiles of other codecs than the array",
    );
  }
  if (shard.tiles.includes(undefined)) {
    same("fill value", expected.fill_value, metadata.fill_value);
  }
}
