import type { StoreKey } from "../../mod.ts";

/** The array that zarr-python wrote; its README says how it is laid out. */
export const ELEVATION_MODEL = new URL("../fixtures/dem.zarr", import.meta.url);

const SHAPE = [344, 403] as const;
const SHARD_SHAPE = [128, 120] as const;
const CHUNK_SHAPE = [32, 40] as const;
const INDEX_SIZE = 4 * 3 * 16 + 4;

/** An inner chunk of the elevation model, as its file has it. */
export interface InnerChunk {
  /** The shard's key. */
  readonly key: StoreKey;
  /** The grid coordinates of the inner chunk in its shard. */
  readonly coordinates: readonly [number, number];
  readonly offset: number;
  /** Its bytes in the file, or `undefined` if the file has none. */
  readonly bytes: Uint8Array | undefined;
  /** Whether a point of the array lies in it. */
  readonly isInArray: boolean;
}

/** All inner chunks, cut out of the files by the offsets at their ends. */
export async function innerChunks(): Promise<InnerChunk[]> {
  const found: InnerChunk[] = [];
  for (const [row, column] of grid(3, 4)) {
    const key: StoreKey = `/c/${row}/${column}`;
    const file = await Deno.readFile(new URL(`${ELEVATION_MODEL.href}${key}`));
    for (const coordinates of grid(4, 3)) {
      const place = 3 * coordinates[0] + coordinates[1];
      const at = file.length - INDEX_SIZE + 16 * place;
      const [offset, length] = [at, at + 8].map((at) =>
        // The lowest of eight bytes comes first.
        file.slice(at, at + 8).reduceRight((n, byte) => 256 * n + byte, 0)
      ) as [number, number];
      const isAbsent = file.slice(at, at + 16).every((byte) => byte === 255);
      found.push({
        key,
        coordinates,
        offset,
        bytes: isAbsent ? undefined : file.slice(offset, offset + length),
        isInArray: [row, column].every((shard, i) =>
          shard * SHARD_SHAPE[i]! + coordinates[i]! * CHUNK_SHAPE[i]! <
            SHAPE[i]!
        ),
      });
    }
  }
  return found;
}

/** Coordinates in a grid of two dimensions. */
function grid(rows: number, columns: number): [number, number][] {
  return Array.from(
    { length: rows * columns },
    (_, i) => [Math.floor(i / columns), i % columns],
  );
}
