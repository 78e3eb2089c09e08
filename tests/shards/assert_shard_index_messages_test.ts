import { assertEquals, assertThrows } from "@std/assert";
import { assertShardIndex, DamageError, type ShardIndex } from "../../mod.ts";

const AT_END = {
  chunksPerShard: [3],
  indexLocation: "end",
  indexEndian: "little",
  indexHasChecksum: true,
} as const;
const AT_START = { ...AT_END, indexLocation: "start" } as const;
const INDEX_SIZE = 52;

/** The message for an index that is refused in a shard of 100 bytes beside its index. */
function refusal(
  index: ShardIndex,
  layout: typeof AT_END | typeof AT_START = AT_END,
  key = "/c/0",
): string {
  const size = 100 + INDEX_SIZE;
  const { message } = assertThrows(
    () => assertShardIndex(index, layout, size, key),
    DamageError,
  );
  return message;
}

Deno.test("assertShardIndex accepts inner chunks that touch each other, the shard's ends and its index", () => {
  const index = [
    { offset: 40, length: 60 },
    { offset: 0, length: 39 },
    { offset: 39, length: 1 },
  ];
  assertShardIndex(index, AT_END, 100 + INDEX_SIZE);
  const moved = index.map(({ offset, length }) => (
    { offset: offset + INDEX_SIZE, length }
  ));
  assertShardIndex(moved, AT_START, 100 + INDEX_SIZE);
});

Deno.test("assertShardIndex names the inner chunk that is outside of the shard by one byte", () => {
  const index = [undefined, undefined, { offset: 51, length: 50 }];
  assertEquals(
    refusal(index),
    'Inner chunk 2 of "/c/0" has 50 bytes from 51 on, where the shard has inner chunks from 0 to 100',
  );
  assertEquals(
    refusal(index, AT_START),
    'Inner chunk 2 of "/c/0" has 50 bytes from 51 on, where the shard has inner chunks from 52 to 152',
  );
  assertEquals(
    refusal([{ offset: 103, length: 50 }, undefined, undefined], AT_START, ""),
    "Inner chunk 0 has 50 bytes from 103 on, where the shard has inner chunks from 52 to 152",
  );
});

Deno.test("assertShardIndex rejects offsets counted without the index before them", () => {
  refusal([{ offset: 0, length: 9 }, undefined, undefined], AT_START);
});

Deno.test("assertShardIndex names both inner chunks that overlap, in C order, and the byte", () => {
  const overlapping = { offset: 10, length: 11 };
  const next = { offset: 20, length: 5 };
  const message = 'Inner chunks 0 and 2 of "/c/0" overlap at byte 20';
  assertEquals(refusal([overlapping, undefined, next]), message);
  assertEquals(refusal([next, undefined, overlapping]), message);
  assertEquals(
    refusal([undefined, next, overlapping], AT_END, ""),
    "Inner chunks 1 and 2 overlap at byte 20",
  );
});

Deno.test("assertShardIndex rejects an inner chunk within another, and accepts several at the same place", () => {
  const large = { offset: 0, length: 100 };
  assertEquals(
    refusal([large, undefined, { offset: 99, length: 1 }], AT_END, ""),
    "Inner chunks 0 and 2 overlap at byte 99",
  );
  assertShardIndex([undefined, large, large], AT_END, 152);
  for (const other of [{ offset: 0, length: 99 }, { offset: 1, length: 99 }]) {
    assertEquals(
      refusal([large, large, other], AT_END, ""),
      `Inner chunks ${
        other.offset === 0 ? "0" : "1"
      } and 2 overlap at byte ${other.offset}`,
    );
  }
});

Deno.test("assertShardIndex accepts an empty inner chunk beside or within another", () => {
  const large = { offset: 10, length: 90 };
  for (const offset of [0, 10, 11, 99, 100]) {
    const empty = { offset, length: 0 };
    assertShardIndex([large, empty, empty], AT_END, 152);
    assertShardIndex([empty, undefined, large], AT_END, 152);
  }
});

Deno.test("assertShardIndex rejects an empty inner chunk in the index or past the shard", () => {
  const at = (offset: number) => [undefined, { offset, length: 0 }, undefined];
  assertShardIndex(at(100), AT_END, 152);
  for (const offset of [101, 152, 153]) refusal(at(offset));
  assertShardIndex(at(52), AT_START, 152);
  assertShardIndex(at(152), AT_START, 152);
  for (const offset of [0, 51, 153]) refusal(at(offset), AT_START);
});

Deno.test("assertShardIndex accepts a shard that is only its index, and rejects a shorter one", () => {
  const none = [undefined, undefined, undefined];
  for (const layout of [AT_END, AT_START]) {
    assertShardIndex(none, layout, INDEX_SIZE);
    const { message } = assertThrows(
      () => assertShardIndex(none, layout, INDEX_SIZE - 1, "/c/0"),
      DamageError,
    );
    assertEquals(
      message,
      'The shard "/c/0" is 51 bytes long, where its index takes 52',
    );
  }
});

Deno.test("assertShardIndex rejects offsets and lengths up to 2^53−1 as damage, and numbers that no index has as a mistake", () => {
  const most = Number.MAX_SAFE_INTEGER;
  refusal([{ offset: most, length: 0 }, undefined, undefined]);
  refusal([{ offset: 0, length: most }, undefined, undefined]);
  const index = [{ offset: most, length: 1 }, undefined, undefined];
  assertThrows(() => assertShardIndex(index, AT_END, 152), RangeError);
});

Deno.test("assertShardIndex does not reorder the index", () => {
  const index = [{ offset: 9, length: 1 }, undefined, { offset: 0, length: 9 }];
  assertShardIndex(index, AT_END, 152);
  assertEquals(index[0], { offset: 9, length: 1 });
});
