import { findJpegHeader, readJpegTables } from "../codecs/mod.ts";
import { DamageError, describe } from "../errors/mod.ts";
import { decodeBase64 } from "../runtime/mod.ts";
import {
  readRange,
  type Store,
  type StoreKey,
  type StoreOptions,
} from "../stores/mod.ts";
import { CONVERT } from "./tiff_page.ts";
import type { TiffShard } from "./tiff_shard.ts";

/** The number of bytes of a tile that are read, in which the header usually ends. */
const HEAD = 4096;

/**
 * Refuses a file whose tiles are JPEG of a kind that is not decoded. The kind is in no tag,
 * but in the header of the first tile and in the tables that all tiles share.
 *
 * @param key The key of the file.
 * @throws {RangeError} If the first tile is of another kind or another shape.
 * @throws {DamageError} If the tables are damaged.
 */
export async function assertJpeg(
  store: Store,
  key: StoreKey,
  { codecs, tiles, tileShape, dimensionNames }: TiffShard,
  options: StoreOptions,
): Promise<void> {
  const jpeg = codecs.find(({ name }) => name === "imagecodecs_jpeg");
  if (jpeg === undefined) return;
  const { tables } = jpeg.configuration ?? {};
  if (typeof tables === "string") assertTables(tables, key);
  const tile = tiles.find((tile) => tile !== undefined);
  if (tile === undefined) return;
  const length = Math.min(tile.length, HEAD);
  const range = { offset: tile.offset, length };
  const head = await readRange(store, key, range, options);
  // Bands before rows are moved behind columns by `transpose`.
  const order = codecs[0]!.name === "transpose"
    ? codecs[0]!.configuration!.order as readonly number[]
    : dimensionNames.map((_, i) => i);
  const encoded = order.map((axis) => ({
    name: dimensionNames[axis],
    length: tileShape[axis]!,
  }));
  const [height, width, bands = 1] = encoded
    .slice(encoded.findIndex(({ name }) => name === "y"))
    .map(({ length }) => length);
  const problem = problemOf(head ?? new Uint8Array(), [height, width, bands]);
  if (problem === undefined) return;
  throw new RangeError(
    `File ${
      describe(key)
    } cannot be part of an array: its tiles are JPEG that cannot be decoded: ${problem}; ${CONVERT}`,
  );
}

function assertTables(tables: string, key: StoreKey): void {
  const bytes = decodeBase64(tables);
  try {
    readJpegTables(bytes);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new DamageError(
      `File ${describe(key)} has damaged tables (JPEGTables): ${error.message}`,
      { key },
    );
  }
}

/**
 * Says why a tile is not decoded; `undefined` if it is, or its header is not in the bytes.
 * Damage of a tile is found by reading it.
 */
function problemOf(
  head: Uint8Array,
  [height, width, bands]: readonly [
    number | undefined,
    number | undefined,
    number,
  ],
): string | undefined {
  const header = findJpegHeader(head);
  if (header === undefined) return undefined;
  const { refusal, shape } = header;
  if (refusal !== undefined) return refusal;
  const [, columns, samples] = shape;
  return columns <= width! && samples === bands
    ? undefined
    : `Expected a height of ${height}, a width of ${width} and ${bands} samples, found ${
      describe(shape)
    }`;
}
