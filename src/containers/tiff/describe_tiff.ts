import { loadOnce } from "../../runtime/mod.ts";
import type { ReadShardRange } from "../../shards/mod.ts";
import type { TiffDescription } from "./tiff_page.ts";

// Programs that only write TIFF do without the library that reads it.
const loadReader = /* @__PURE__ */ loadOnce(() =>
  import("./read_directories.ts")
);

/**
 * Describes what a TIFF holds: its pages in the terms of Zarr, with the place of every
 * tile. Reads the directories by few requests, and no tile: one where the directories
 * are at the start of the file, two where they are at its end, and one more for tables
 * of tiles that are long.
 *
 * Pages whose tiles cannot be chunks of a Zarr array say why in `problem`. A stack that
 * has one directory for all planes has one page for each plane, such as stacks of
 * MetaMorph, NIH Image, ImageJ and tifffile.
 *
 * @param read Reads a range of the file.
 * @param options `key`: the key of the file, for messages; `size`: the length of the
 * file in bytes, which saves a request for long tables at its end, and is needed to find
 * the lengths of compressed strips that the file does not have; `page`: the place of the
 * only page that is needed, so that damage of other pages is passed over.
 * @returns The pages.
 * @throws {DamageError} If the file is not a TIFF, or its directories are damaged.
 * @throws {Error} If there is no file.
 *
 * @example
 * ```ts
 * import { arrayMetadata, encodeShard, MemoryStore, parseShardLayout } from "@zarr-parts/zarr-parts";
 * import { describeTiff, tiffContainer } from "@zarr-parts/zarr-parts/tiff";
 * import { assertEquals } from "@std/assert";
 *
 * const metadata = arrayMetadata({
 *   shape: [16, 32],
 *   dataType: "uint8",
 *   shardShape: [16, 32],
 *   chunkShape: [16, 16],
 * });
 * const layout = parseShardLayout(metadata.codecs[0], [16, 32]);
 * const container = tiffContainer(metadata)([0, 0]);
 * const tiles = [new Uint8Array(256), new Uint8Array(256)];
 * const store = new MemoryStore([["/a.tiff", encodeShard(tiles, layout, { container })]]);
 *
 * const { pages } = await describeTiff((range) => store.getRange("/a.tiff", range));
 * assertEquals(pages.length, 1);
 * assertEquals(pages[0]?.shape, [16, 32]);
 * assertEquals(pages[0]?.tileShape, [16, 16]);
 * assertEquals(pages[0]?.dataType, "uint8");
 * assertEquals(pages[0]?.codecs, [{ name: "bytes" }]);
 * assertEquals(pages[0]?.tiles[1]?.length, 256);
 * ```
 */
export async function describeTiff(
  read: ReadShardRange,
  { key = "", size, page }: {
    key?: string | undefined;
    size?: number | undefined;
    page?: number | undefined;
  } = {},
): Promise<TiffDescription> {
  const { describeDirectories } = await loadReader();
  return await describeDirectories(read, key, size, page);
}
