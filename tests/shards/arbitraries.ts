import fc from "fast-check";
import type { EncodeShardOptions, ShardIndex, ShardLayout } from "../../mod.ts";

const MOST = Number.MAX_SAFE_INTEGER;

/** The layouts with so many inner chunks, one for each way to store the index. */
export function layoutsOf(...chunksPerShard: number[]): ShardLayout[] {
  return (["start", "end"] as const).flatMap((indexLocation) =>
    (["little", "big"] as const).flatMap((indexEndian) =>
      [false, true].map((indexHasChecksum) => ({
        chunksPerShard,
        indexLocation,
        indexEndian,
        indexHasChecksum,
      }))
    )
  );
}

/** Layouts of none to five dimensions and 1 to 32 inner chunks. */
export const layouts: fc.Arbitrary<ShardLayout> = fc.array(
  fc.integer({ min: 1, max: 4 }),
  { maxLength: 5 },
).filter((lengths) => product(lengths) <= 32)
  .chain((lengths) => fc.constantFrom(...layoutsOf(...lengths)));

/** One value for each inner chunk of a layout. */
export function forEachChunk<T>(
  { chunksPerShard }: ShardLayout,
  value: fc.Arbitrary<T>,
): fc.Arbitrary<(T | undefined)[]> {
  const length = product(chunksPerShard);
  return fc.array(fc.option(value, { nil: undefined, freq: 3 }), {
    minLength: length,
    maxLength: length,
  });
}

const place = fc.oneof(
  fc.nat(300),
  fc.maxSafeNat(),
  fc.constantFrom(0, 2 ** 31, 2 ** 32 - 1, 2 ** 32, MOST - 1, MOST),
);

/** Indexes with offsets and lengths up to 2^53−1, in shards that need not be possible. */
export function indexesOf(layout: ShardLayout): fc.Arbitrary<ShardIndex> {
  const entry = fc.tuple(place, place).map(([a, b]) => ({
    offset: Math.min(a, b),
    length: Math.abs(a - b),
  }));
  return forEachChunk(layout, entry);
}

/** The arguments of `encodeShard`. */
export interface ShardInput {
  readonly layout: ShardLayout;
  readonly chunks: readonly (Uint8Array | undefined)[];
  readonly options: EncodeShardOptions;
}

/** Small shards of any layout, some of their inner chunks empty or absent. */
export const shardInputs: fc.Arbitrary<ShardInput> = layouts.chain((layout) =>
  fc.record({
    layout: fc.constant(layout),
    chunks: forEachChunk(layout, fc.uint8Array({ maxLength: 20 })),
    options: fc.record({
      prefix: fc.uint8Array({
        maxLength: layout.indexLocation === "start" ? 0 : 70,
      }),
      alignment: fc.constantFrom(1, 2, 3, 7, 8, 64, 100),
    }, { requiredKeys: [] }),
  })
);

function product(lengths: readonly number[]): number {
  return lengths.reduce((product, length) => product * length, 1);
}
