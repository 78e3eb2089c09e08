import type { EncodeShardOptions, ShardIndex, ShardLayout } from "../../mod.ts";

/** The value of both numbers of an absent inner chunk. */
export const ABSENT = 2n ** 64n - 1n;

/** The two numbers of an inner chunk in the index, of any value. */
export type StoredEntry = readonly [offset: bigint, length: bigint];

/** The entries of an index as they are stored. */
export function storedEntries(index: ShardIndex): StoredEntry[] {
  return Array.from(
    index,
    (entry) =>
      entry ? [BigInt(entry.offset), BigInt(entry.length)] : [ABSENT, ABSENT],
  );
}

/** The bytes of an index, one by one. */
export function slowIndexBytes(
  entries: readonly StoredEntry[],
  { indexEndian, indexHasChecksum }: ShardLayout,
): Uint8Array {
  const bytes = entries.flat().flatMap((number) => {
    const littleEndian = lowestFirst(number, 8);
    return indexEndian === "little" ? littleEndian : littleEndian.reverse();
  });
  // The document of crc32c says "little-endian", for any codec before it.
  if (indexHasChecksum) bytes.push(...lowestFirst(slowCrc32c(bytes), 4));
  return Uint8Array.from(bytes);
}

/** The entries in the bytes of an index; its checksum is passed over. */
export function slowEntries(
  bytes: Iterable<number>,
  { indexEndian, indexHasChecksum }: ShardLayout,
): StoredEntry[] {
  const rest = [...bytes];
  if (indexHasChecksum) rest.splice(-4);
  const next = () => {
    const digits = rest.splice(0, 8);
    if (indexEndian === "little") digits.reverse();
    return digits.reduce((number, byte) => number * 256n + BigInt(byte), 0n);
  };
  const entries: StoredEntry[] = [];
  while (rest.length > 0) entries.push([next(), next()]);
  return entries;
}

/** A shard, byte by byte. */
export function slowShard(
  chunks: readonly (Uint8Array | undefined)[],
  layout: ShardLayout,
  { prefix = new Uint8Array(), alignment = 1 }: EncodeShardOptions = {},
): { bytes: Uint8Array; entries: StoredEntry[] } {
  const isAtStart = layout.indexLocation === "start";
  const bytes = [...prefix];
  if (isAtStart) {
    for (let i = 0; i < slowIndexSize(layout); i++) bytes.push(0);
  }
  const entries = chunks.map((chunk): StoredEntry => {
    if (chunk === undefined) return [ABSENT, ABSENT];
    while (bytes.length % alignment !== 0) bytes.push(0);
    const offset = BigInt(bytes.length);
    bytes.push(...chunk);
    return [offset, BigInt(chunk.length)];
  });
  const index = slowIndexBytes(entries, layout);
  if (isAtStart) bytes.splice(0, index.length, ...index);
  else bytes.push(...index);
  return { bytes: Uint8Array.from(bytes), entries };
}

/** The length of an index, inner chunk by inner chunk. */
export function slowIndexSize(
  { chunksPerShard, indexHasChecksum }: ShardLayout,
): number {
  return 16 * slowCoordinates(chunksPerShard).length +
    (indexHasChecksum ? 4 : 0);
}

/** The coordinates of all inner chunks in C order: the last changes fastest. */
export function slowCoordinates(chunksPerShard: readonly number[]): number[][] {
  return chunksPerShard.reduce<number[][]>(
    (all, length) =>
      all.flatMap((before) =>
        Array.from({ length }, (_, coordinate) => [...before, coordinate])
      ),
    [[]],
  );
}

/** The CRC32C, bit by bit. */
export function slowCrc32c(bytes: Iterable<number>): bigint {
  let register = 0xffffffffn;
  for (const byte of bytes) {
    register ^= BigInt(byte);
    for (let bit = 0; bit < 8; bit++) {
      register = register / 2n ^ (register % 2n === 1n ? 0x82f63b78n : 0n);
    }
  }
  return register ^ 0xffffffffn;
}

function lowestFirst(number: bigint, count: number): number[] {
  return Array.from(
    { length: count },
    (_, i) => Number(number / 256n ** BigInt(i) % 256n),
  );
}
