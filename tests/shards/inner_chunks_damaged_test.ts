import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertRejects,
} from "@std/assert";
import {
  ChecksumError,
  DamageError,
  encodeShard,
  MemoryStore,
  shardIndexSize,
} from "../../mod.ts";
import { InnerChunks } from "../../src/shards/inner_chunks.ts";
import { countingBytes } from "../support/bytes.ts";
import { layoutsOf } from "./arbitraries.ts";
import { slowIndexBytes, type StoredEntry } from "./slow_shard.ts";

const KEY = "/a/c/0";
const LAYOUTS = layoutsOf(2);
const WITHOUT_CHECKSUM = LAYOUTS.filter((it) => !it.indexHasChecksum);
const ABSENT = 2n ** 64n - 1n;

/** A shard of ten bytes and an index of any entries. */
function shardOf(
  entries: readonly StoredEntry[],
  layout: (typeof LAYOUTS)[number],
  body = countingBytes(10),
): Uint8Array {
  const index = slowIndexBytes(entries, layout);
  return new Uint8Array(
    layout.indexLocation === "start" ? [...index, ...body] : [
      ...body,
      ...index,
    ],
  );
}

async function innerOf(
  shard: Uint8Array,
  ...layouts: (typeof LAYOUTS)[number][]
): Promise<InnerChunks> {
  const stored = new MemoryStore();
  await stored.set(KEY, shard);
  return new InnerChunks(stored, layouts);
}

Deno.test("InnerChunks rejects a shard with any flipped bit in its index, and names the key of the shard", async () => {
  for (const layout of LAYOUTS.filter((it) => it.indexHasChecksum)) {
    const chunks = [countingBytes(3), undefined];
    const shard = encodeShard(chunks, layout);
    const size = shardIndexSize(layout);
    const start = layout.indexLocation === "start" ? 0 : shard.length - size;
    for (let bit = 8 * start; bit < 8 * (start + size); bit++) {
      const damaged = shard.slice();
      damaged[bit >> 3]! ^= 1 << (bit & 7);
      const inner = await innerOf(damaged, layout);
      for (const c of [0, 1]) {
        const error = await assertRejects(
          () => inner.at([[c]]).get(KEY),
          ChecksumError,
          `"${KEY}"`,
        );
        assertEquals(error.key, KEY);
      }
      await assertRejects(
        () => Array.fromAsync(inner.list(KEY)),
        ChecksumError,
      );
      await assertRejects(
        () => inner.at([[0]]).set!(KEY, countingBytes(1)),
        ChecksumError,
      );
    }
  }
});

Deno.test("InnerChunks rejects an inner chunk outside of its shard, by one byte and by any number", async () => {
  for (const layout of WITHOUT_CHECKSUM) {
    const size = BigInt(shardIndexSize(layout) + 10);
    for (
      const entry of [
        [size - 1n, 2n],
        [size, 1n],
        [2n ** 40n, 1n],
        [2n ** 53n - 2n, 1n],
        [2n ** 53n, 1n],
        [1n, 2n ** 53n - 1n],
        [2n ** 63n, 1n],
        [ABSENT, 1n],
        [0n, ABSENT],
        [ABSENT - 1n, ABSENT],
      ] as const
    ) {
      const inner = await innerOf(shardOf([entry, [0n, 1n]], layout), layout);
      for (
        const read of [
          () => inner.at([[0]]).get(KEY),
          () => inner.at([[0]]).getRange!(KEY, { suffixLength: 1 }),
        ]
      ) {
        await assertRejects(read, DamageError, `"${KEY}"`, String(entry));
      }
    }
    const last = await innerOf(
      shardOf([[size - 1n, 1n], [ABSENT, ABSENT]], layout),
      layout,
    );
    assertEquals((await last.at([[0]]).get(KEY))?.length, 1);
    assertEquals(await last.at([[1]]).get(KEY), undefined);
  }
});

Deno.test("InnerChunks rejects an inner chunk outside of its nested shard, also inside of the outer shard", async () => {
  for (const layout of WITHOUT_CHECKSUM) {
    const innerSize = BigInt(shardIndexSize(layout) + 10);
    for (
      const [entry, isInside] of [
        [[innerSize - 2n, 2n], true],
        [[innerSize - 1n, 2n], false],
        [[innerSize + 1n, 1n], false],
        [[innerSize, 1n], false],
      ] as const
    ) {
      const nested = shardOf([entry, [ABSENT, ABSENT]], layout);
      const inner = await innerOf(
        encodeShard([nested, countingBytes(30)], layout),
        layout,
        layout,
      );
      const read = () => inner.at([[0], [0]]).get(KEY);
      if (isInside) assertEquals((await read())?.length, 2);
      else await assertRejects(read, DamageError, `"${KEY}"`, String(entry));
      assertEquals(await inner.at([[0], [1]]).get(KEY), undefined);
    }
  }
});

Deno.test("InnerChunks rejects a truncated shard, or returns inner chunks that are still whole", async () => {
  for (const layout of LAYOUTS) {
    const chunks = [countingBytes(3), countingBytes(5, 9)];
    const shard = encodeShard(chunks, layout);
    for (let length = 0; length < shard.length; length++) {
      const inner = await innerOf(shard.slice(0, length), layout);
      for (const c of [0, 1]) {
        const outcome = await inner.at([[c]]).get(KEY)
          .catch((error: Error) => error);
        if (outcome instanceof Error) {
          assertInstanceOf(outcome, DamageError);
          assertEquals(outcome.key, KEY);
          assert(outcome.message.includes(`"${KEY}"`), outcome.message);
        } else if (layout.indexLocation === "start") {
          assertEquals(outcome, chunks[c]);
        } else {
          // Without a checksum, the new last bytes of the shard may be any index.
          assert(!layout.indexHasChecksum);
        }
      }
    }
  }
});

Deno.test("InnerChunks rejects to change a shard without a checksum whose inner chunks overlap or lie outside", async () => {
  for (const layout of WITHOUT_CHECKSUM) {
    const first = layout.indexLocation === "start" ? 32n : 0n;
    for (
      const entries of [
        [[first, 6n], [first + 5n, 5n]],
        [[first, 6n], [first + 6n, 5n]],
      ] as const
    ) {
      const shard = shardOf(entries, layout);
      const stored = new MemoryStore();
      await stored.set(KEY, shard);
      const inner = new InnerChunks(stored, [layout]);
      await assertRejects(
        () => inner.at([[0]]).set!(KEY, countingBytes(1)),
        DamageError,
        `"${KEY}"`,
      );
      assertEquals(await stored.get(KEY), shard);
    }
  }
});
