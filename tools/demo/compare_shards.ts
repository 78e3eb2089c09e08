import type { ArrayChunks } from "../../mod.ts";
import { indexSize, PARTS } from "./in_parts.ts";

/** A shard that is equal to the shard of the source. */
export interface ComparedShard {
  readonly coordinates: readonly number[];
  /** The key of its inner chunks, relative to the array. */
  readonly key: string;
  /** The sizes of its parts in bytes. */
  readonly partSizes: readonly number[];
  /** The size of the whole shard in bytes. */
  readonly size: number;
}

/**
 * Compares a shard with the shard of the source: as a whole, as its files joined
 * without this library, and its index by a range request.
 *
 * @throws {Error} If a byte differs.
 */
export async function compareShard(
  source: ArrayChunks,
  copy: ArrayChunks,
  folder: string,
  coordinates: readonly number[],
): Promise<ComparedShard> {
  const shard = (await source.get(coordinates))!;
  const name = `Shard (${coordinates.join(", ")})`;

  assertEqual(await copy.get(coordinates), shard, `${name}, read as a whole,`);

  const key = copy.key(coordinates).slice(1);
  const parts = await Promise.all(
    PARTS.map((suffix) => Deno.readFile(`${folder}/${key}${suffix}`)),
  );
  const joined = await new Blob(parts).bytes();
  assertEqual(joined, shard, `${name}, joined from its files,`);

  const suffixLength = indexSize(source.metadata);
  assertEqual(
    await copy.getRange(coordinates, { suffixLength }),
    shard.subarray(-suffixLength),
    `The index of ${name.toLowerCase()}, read by a range request,`,
  );
  const partSizes = parts.map(({ length }) => length);
  return { coordinates, key, partSizes, size: shard.length };
}

function assertEqual(
  actual: Uint8Array | undefined,
  expected: Uint8Array,
  what: string,
): void {
  const isEqual = actual?.length === expected.length &&
    expected.every((byte, i) => byte === actual[i]);
  if (!isEqual) throw new Error(`${what} differs from the source`);
}
