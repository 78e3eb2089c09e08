import type { ArrayChunks } from "../../mod.ts";
import { indexSize, PARTS } from "./in_parts.ts";

/** A shard that was found to be as it was. */
export interface ComparedShard {
  readonly coordinates: readonly number[];
  /** The key of its data, relative to the array. */
  readonly key: string;
  /** The lengths of its parts in bytes. */
  readonly partSizes: readonly number[];
  /** The length of all of it. */
  readonly size: number;
}

/**
 * Compares a shard with its source: whole, as its files one after another, and
 * its index by a range request.
 *
 * @throws {Error} If a byte is another one.
 */
export async function compareShard(
  source: ArrayChunks,
  copy: ArrayChunks,
  folder: string,
  coordinates: readonly number[],
): Promise<ComparedShard> {
  const shard = (await source.get(coordinates))!;
  const assertSame = (actual: Uint8Array | undefined, what: string) =>
    assertSameBytes(
      actual,
      shard,
      `shard (${coordinates.join(", ")}), ${what}`,
    );

  assertSame(await copy.get(coordinates), "read from its parts");

  const key = copy.key(coordinates).slice(1);
  const parts = await Promise.all(
    PARTS.map((suffix) => Deno.readFile(`${folder}/${key}${suffix}`)),
  );
  const files = await new Blob(parts).bytes();
  assertSame(files, "its files one after another");

  const suffixLength = indexSize(source.metadata);
  assertSameBytes(
    await copy.getRange(coordinates, { suffixLength }),
    shard.subarray(-suffixLength),
    `the index of shard (${coordinates.join(", ")}), by a range request`,
  );
  const partSizes = parts.map(({ length }) => length);
  return { coordinates, key, partSizes, size: shard.length };
}

function assertSameBytes(
  actual: Uint8Array | undefined,
  expected: Uint8Array,
  what: string,
): void {
  const same = actual?.length === expected.length &&
    expected.every((byte, i) => byte === actual[i]);
  if (!same) throw new Error(`Not the bytes of the source: ${what}`);
}
