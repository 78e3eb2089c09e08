import {
  assertEquals,
  assertInstanceOf,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import fc from "fast-check";
import {
  DamageError,
  decodeShardIndex,
  encodeShardIndex,
  type ShardIndex,
  shardIndexSize,
  type ShardLayout,
} from "../../mod.ts";
import { layouts, layoutsOf } from "./arbitraries.ts";
import { ABSENT, slowIndexBytes, type StoredEntry } from "./slow_shard.ts";

const MOST = Number.MAX_SAFE_INTEGER;

Deno.test("decodeShardIndex rejects one byte too many and one too few", () => {
  fc.assert(
    fc.property(layouts, (layout) => {
      const size = shardIndexSize(layout);
      for (const length of [0, size - 16, size - 4, size - 1, size + 1]) {
        assertThrows(
          () => decodeShardIndex(new Uint8Array(length), layout, "/c/0"),
          DamageError,
          `The index of "/c/0" is ${length} bytes long, where [${
            layout.chunksPerShard.join(", ")
          }] inner chunks take ${size}`,
        );
      }
    }),
  );
});

Deno.test("decodeShardIndex rejects an index with a checksum for a layout without, and the reverse", () => {
  for (const layout of layoutsOf(2, 2)) {
    const bytes = encodeShardIndex(Array(4).fill(undefined), layout);
    const other = { ...layout, indexHasChecksum: !layout.indexHasChecksum };
    assertThrows(() => decodeShardIndex(bytes, other), DamageError, "long");
  }
});

/** Decodes one entry after an absent one. */
function decodeEntry(entry: StoredEntry, layout: ShardLayout) {
  const bytes = slowIndexBytes([[ABSENT, ABSENT], entry], layout);
  return decodeShardIndex(bytes, layout, "/c/0")[1];
}

function assertEntryRefused(entry: StoredEntry, layout: ShardLayout): void {
  assertThrows(
    () => decodeEntry(entry, layout),
    DamageError,
    `Inner chunk 1 of "/c/0" has ${entry[1]} bytes from ${
      entry[0]
    } on, where 2^53−1 is the most that can be read`,
  );
}

Deno.test("decodeShardIndex accepts offsets, lengths and sums up to 2^53−1 and rejects 2^53", () => {
  const most = BigInt(MOST);
  for (const layout of layoutsOf(2)) {
    const largest = [[most, 0n], [0n, most], [most - 1n, 1n], [1n, most - 1n]];
    for (const [offset, length] of largest as [bigint, bigint][]) {
      assertEquals(
        decodeEntry([offset, length], layout),
        { offset: Number(offset), length: Number(length) },
      );
      assertEntryRefused([offset + 1n, length], layout);
      assertEntryRefused([offset, length + 1n], layout);
    }
    // As numbers, or as unsigned integers, these sums would come out small.
    assertEntryRefused([2n ** 63n, 2n ** 63n], layout);
    assertEntryRefused([2n ** 64n - 2n, 3n], layout);
    assertEntryRefused([most, most], layout);
  }
});

Deno.test("decodeShardIndex rejects an entry of which only one number marks an absent chunk", () => {
  for (const layout of layoutsOf(2)) {
    assertEquals(decodeEntry([ABSENT, ABSENT], layout), undefined);
    for (const other of [0n, 1n, ABSENT - 1n]) {
      assertEntryRefused([ABSENT, other], layout);
      assertEntryRefused([other, ABSENT], layout);
    }
    assertEntryRefused([ABSENT - 1n, ABSENT - 1n], layout);
  }
});

Deno.test("decodeShardIndex accepts 64-bit numbers exactly if both numbers and their sum fit", () => {
  const number = fc.oneof(
    fc.bigInt(0n, ABSENT),
    fc.bigInt(0n, BigInt(MOST)),
    fc.nat(9).map((n) => BigInt(MOST) + BigInt(n - 4)),
    fc.nat(2).map((n) => ABSENT - BigInt(n)),
    fc.nat(9).map(BigInt),
  );
  fc.assert(
    fc.property(
      fc.tuple(number, number),
      fc.constantFrom(...layoutsOf(2)),
      ([offset, length], layout) => {
        if (offset === ABSENT && length === ABSENT) {
          assertEquals(decodeEntry([offset, length], layout), undefined);
        } else if (offset + length <= BigInt(MOST)) {
          const entry = decodeEntry([offset, length], layout);
          assertEquals(
            [BigInt(entry!.offset), BigInt(entry!.length)],
            [offset, length],
          );
        } else assertEntryRefused([offset, length], layout);
      },
    ),
    { numRuns: 1000 },
  );
});

Deno.test("encodeShardIndex rejects another number of entries than the shard has inner chunks", () => {
  const entry = { offset: 100, length: 1 };
  for (const layout of layoutsOf(2, 3)) {
    for (const count of [0, 5, 7]) {
      assertThrows(
        () => encodeShardIndex(Array(count).fill(entry), layout),
        RangeError,
        `Expected an index of 6 entries, one for each inner chunk, found ${count}`,
      );
    }
  }
  for (const layout of layoutsOf()) {
    assertThrows(
      () => encodeShardIndex([], layout),
      RangeError,
      "Expected an index of 1 entries",
    );
  }
});

Deno.test("encodeShardIndex rejects numbers that are not whole, negative or above 2^53−1", () => {
  const wrong = [-1, 0.5, 1e-9, NaN, Infinity, -Infinity, MOST + 1, 2 ** 64];
  for (const layout of layoutsOf(2)) {
    const refused = (offset: unknown, length: unknown): string => {
      const index = [undefined, { offset, length }] as ShardIndex;
      return assertThrows(() => encodeShardIndex(index, layout), RangeError)
        .message;
    };
    const message =
      "Expected the offset and the length of inner chunk 1 to be whole numbers of bytes of no more than 2^53−1 together, found";
    for (const number of wrong) {
      assertEquals(refused(number, 7), `${message} ${number} and 7`);
      assertEquals(refused(7, number), `${message} 7 and ${number}`);
    }
    // Each fits, and so would their sum if it were rounded or cancelled out.
    for (const [a, b] of [[MOST, 1], [1, MOST], [MOST, MOST], [-1, 1]]) {
      assertEquals(refused(a, b), `${message} ${a} and ${b}`);
    }
    assertEquals(refused("1", 2), `${message} "1" and 2`);
  }
});

Deno.test("shardIndexSize rejects invalid numbers of inner chunks", () => {
  const wrong = [
    [0],
    [3, 0],
    [-1],
    [-1, -4],
    [0.5],
    [0.5, 4],
    [NaN],
    [Infinity],
    [2 ** 53],
    [2 ** 49], // 16 bytes each
    [2 ** 27, 2 ** 26],
  ];
  for (const chunksPerShard of wrong) {
    const layout = { ...layoutsOf()[0]!, chunksPerShard };
    for (
      const run of [
        () => shardIndexSize(layout),
        () => encodeShardIndex([], layout),
        () => decodeShardIndex(new Uint8Array(), layout),
      ]
    ) {
      const error = assertThrows(run);
      assertInstanceOf(error, RangeError);
      assertStringIncludes(
        error.message,
        `Expected whole numbers of inner chunks from 1, and an index of no more than 2^53−1 bytes for all of them, found [${
          chunksPerShard.join(", ")
        }]`,
      );
    }
  }
});
