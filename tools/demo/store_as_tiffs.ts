import * as zarr from "zarrita";
import {
  arrayMetadata,
  createArrayChunks,
  FileSystemStore,
} from "../../mod.ts";
import { tiffContainer, type TiffOptions } from "../../tiff.ts";
import { registerCodecs, setSharded, withZarrParts } from "../../zarrita.ts";

registerCodecs(zarr);

/** A picture that is stored as an array. */
export interface Picture {
  /** The number of rows and of columns, and of colours if there are any. */
  readonly shape: readonly number[];
  readonly dimensionNames: readonly string[];
  readonly elements: Int16Array | Uint8Array;
  readonly fillValue: number;
  readonly attributes: Record<string, unknown>;
  readonly tiff: TiffOptions;
}

/** The two files of a shard. */
export interface ShardFiles {
  /** The path of the TIFF. The index is beside it. */
  readonly path: string;
  readonly width: number;
  readonly height: number;
  /** The sizes of the TIFF and of the index in bytes. */
  readonly sizes: readonly number[];
}

/** The rows and columns of a shard, and of its inner chunks, which are the tiles of the TIFF. */
const SHARD = [192, 256] as const;
const TILE = [64, 64] as const;

/** The key suffixes of a shard's files. */
export const PARTS: readonly [string, string] = ["", ".index"];

/**
 * Stores a picture in a folder as an array whose shards are TIFF files, each with its
 * index in a file of its own.
 */
export async function storeAsTiffs(
  folder: string,
  picture: Picture,
): Promise<ShardFiles[]> {
  const { shape, elements, dimensionNames, tiff } = picture;
  const colours = shape.slice(2);
  const metadata = arrayMetadata({
    shape: [...shape],
    dataType: elements instanceof Int16Array ? "int16" : "uint8",
    shardShape: [...SHARD, ...colours],
    chunkShape: [...TILE, ...colours],
    // Image viewers know this compression, and few know that of zstd.
    codecs: ["bytes", { name: "numcodecs.zlib", configuration: { level: 9 } }],
    fillValue: picture.fillValue,
    dimensionNames: [...dimensionNames],
    attributes: picture.attributes,
    suffix: ".tiff",
    parts: [...PARTS],
  });
  const files = new FileSystemStore(folder);
  const chunks = await createArrayChunks(files, "", metadata);
  const array = await zarr.open(withZarrParts(files), { kind: "array" });
  const container = tiffContainer(metadata, tiff);
  await setSharded(zarr, array, null, elements, { container });

  const shards = (await Array.fromAsync(chunks.list()))
    .sort((a, b) => a[0]! - b[0]! || a[1]! - b[1]!);
  return await Promise.all(shards.map(async (shard) => {
    const path = folder + chunks.key(shard);
    const [height, width] = SHARD.map((length, i) =>
      Math.min(length, shape[i]! - length * shard[i]!)
    );
    const sizes = PARTS.map(async (part) =>
      (await Deno.stat(path + part)).size
    );
    return {
      path,
      width: width!,
      height: height!,
      sizes: await Promise.all(sizes),
    };
  }));
}
