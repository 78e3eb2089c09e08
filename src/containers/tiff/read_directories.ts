import { DamageError } from "../../errors/mod.ts";
import type { ReadShardRange } from "../../shards/mod.ts";
import { describePage, withPlanes } from "./describe_page.ts";
import {
  type Directory,
  DirectoryReader,
  TiffError,
} from "./directory_reader.ts";
import { MissingFileError, RangeSource } from "./range_source.ts";
import type { TiffDescription } from "./tiff_page.ts";

/** Describes the pages of a TIFF, as `describeTiff` does. */
export async function describeDirectories(
  read: ReadShardRange,
  key: string,
  size: number | undefined,
  page: number | undefined,
): Promise<TiffDescription> {
  const { isLittleEndian, isBig, directories } = await readDirectories(
    read,
    key,
    size,
    page,
  );
  const starts = directories.map(({ offset }) => offset);
  const file = { isLittleEndian, isBig, size, starts };
  const pages = directories.map((directory) => describePage(directory, file));
  return { pages: withPlanes(pages, directories) };
}

/**
 * Reads all directories of a TIFF: those of the chain, and then their sub-directories.
 *
 * @param key The key of the file, for messages; may be empty.
 * @throws {DamageError} If the file is not a TIFF, or its directories are damaged.
 * @throws {Error} If there is no file.
 */
async function readDirectories(
  read: ReadShardRange,
  key: string,
  size: number | undefined,
  page: number | undefined,
): Promise<{
  isLittleEndian: boolean;
  isBig: boolean;
  directories: readonly Directory[];
}> {
  let failure: { error: unknown } | undefined;
  const source = new RangeSource(async (range) => {
    try {
      return await read(range);
    } catch (error) {
      failure ??= { error };
      throw error;
    }
  }, size);
  const name = key === "" ? "TIFF" : `TIFF ${JSON.stringify(key)}`;
  try {
    const reader = new DirectoryReader(source);
    const directories = await reader.read(page);
    const { isLittleEndian, isBig } = reader;
    return { isLittleEndian, isBig, directories };
  } catch (cause) {
    if (failure !== undefined) throw failure.error;
    if (cause instanceof MissingFileError) {
      throw new Error(`There is no ${name}`, { cause });
    }
    const reason = cause instanceof TiffError
      ? cause.message
      : `cannot be read: ${(cause as Error).message}`;
    throw new DamageError(`${name} ${reason}`, { key, cause });
  }
}
