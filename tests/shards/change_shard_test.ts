import { assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import {
  assertShardIndex,
  DamageError,
  encodeShard,
  MemoryStore,
  readShardIndex,
  type ShardLayout,
} from "../../mod.ts";
import {
  changeShard,
  type InnerChanges,
} from "../../src/shards/change_shard.ts";
import { countingBytes } from "../support/bytes.ts";
import { logged } from "../support/observed_store.ts";
import { layoutsOf, shardInputs } from "./arbitraries.ts";

const KEY = "/c/0";
const AT_END = layoutsOf(3).filter((it) => it.indexLocation === "end");

/** The inner chunks of a shard, which must not overlap, and where they start. */
async function contents(stored: MemoryStore, layout: ShardLayout) {
  const shard = (await stored.get(KEY))!;
  const index = (await readShardIndex(
    (range) => stored.getRange(KEY, range),
    layout,
  ))!;
  assertShardIndex(index, layout, shard.length);
  return {
    offsets: index.map((entry) => entry?.offset),
    chunks: index.map((entry) =>
      entry && shard.slice(entry.offset, entry.offset + entry.length)
    ),
    shard,
  };
}

Deno.test("changeShard changes the given inner chunks and keeps the others and the prefix", async () => {
  const cases = shardInputs.chain((input) =>
    fc.record({
      input: fc.constant(input),
      isThere: fc.boolean(),
      isWhole: fc.boolean(),
      changes: fc.array(
        fc.tuple(
          fc.nat(input.chunks.length - 1),
          fc.option(fc.uint8Array({ maxLength: 9 }), { nil: undefined }),
        ),
        { maxLength: 5 },
      ),
    })
  );
  await fc.assert(
    fc.asyncProperty(cases, async ({ input, isThere, isWhole, changes }) => {
      const { chunks, layout, options } = input;
      const stored = new MemoryStore();
      if (isThere) await stored.set(KEY, encodeShard(chunks, layout, options));
      const expected = isThere && !isWhole
        ? [...chunks]
        : chunks.map(() => undefined);
      for (const [place, bytes] of changes) expected[place] = bytes;
      await changeShard(stored, KEY, layout, new Map(changes), {
        isWhole,
        otherBytes: "replace",
      });

      if (expected.every((chunk) => chunk === undefined)) {
        // Without a read, it is unknown whether the shard exists.
        assertEquals(await stored.get(KEY), undefined);
        return;
      }
      const found = await contents(stored, layout);
      assertEquals(found.chunks, expected);
      const hadChunk = chunks.some((chunk) => chunk && chunk.length > 0);
      if (isThere && !isWhole && hadChunk) {
        const prefix = options.prefix ?? [];
        assertEquals([...found.shard.subarray(0, prefix.length)], [...prefix]);
      }
    }),
    { numRuns: 300 },
  );
});

Deno.test("changeShard keeps the prefix of a shard whose inner chunks are all absent or empty", async () => {
  const prefix = countingBytes(6, 100);
  for (const layout of AT_END) {
    for (const chunk of [undefined, new Uint8Array()]) {
      const stored = new MemoryStore();
      const shard = encodeShard([chunk, chunk, chunk], layout, { prefix });
      await stored.set(KEY, shard);
      const changes: InnerChanges = new Map([[1, countingBytes(4)]]);
      await changeShard(stored, KEY, layout, changes, {
        otherBytes: "replace",
      });
      const found = await contents(stored, layout);
      assertEquals(found.shard.slice(0, 6), prefix);
      assertEquals(found.chunks, [chunk, countingBytes(4), chunk]);
    }
  }
});

Deno.test("changeShard does not make a shard longer by repeated changes", async () => {
  const prefix = countingBytes(5, 100);
  for (const layout of AT_END) {
    const stored = new MemoryStore();
    const chunks = [3, 4, 5].map((length) => countingBytes(length));
    const options = { prefix, alignment: 16 };
    await stored.set(KEY, encodeShard(chunks, layout, options));
    const { length } = (await stored.get(KEY))!;
    for (let i = 0; i < 9; i++) {
      const changes = new Map([[i % 3, chunks[i % 3]!]]);
      await changeShard(stored, KEY, layout, changes, { alignment: 16 });
      assertEquals((await stored.get(KEY))!.length, length);
    }
    assertEquals((await contents(stored, layout)).offsets, [16, 32, 48]);
  }
});

Deno.test("changeShard deletes a shard without inner chunks, and needs no delete for an absent shard", async () => {
  for (const layout of layoutsOf(2)) {
    const stored = new MemoryStore();
    const { store, log } = logged(stored);
    const remove = new Map([[0, undefined], [1, undefined]]);
    const { store: cannotDelete } = logged(stored, ["get", "set"]);
    await changeShard(cannotDelete, KEY, layout, remove);
    await changeShard(store, KEY, layout, new Map());
    assertEquals(log, [`get ${KEY}`]);

    const chunks = [countingBytes(1), undefined];
    await stored.set(KEY, encodeShard(chunks, layout));
    await assertRejects(
      () => changeShard(cannotDelete, KEY, layout, remove),
      TypeError,
      "delete",
    );
    assertEquals((await contents(stored, layout)).chunks, chunks);
    log.length = 0;
    await changeShard(store, KEY, layout, new Map([[0, undefined]]));
    assertEquals(log, [`get ${KEY}`, `delete ${KEY}`]);
    assertEquals(await stored.get(KEY), undefined);
  }
});

Deno.test("changeShard reads only the index of a shard of which it keeps nothing", async () => {
  for (const layout of layoutsOf(2)) {
    const stored = new MemoryStore();
    await stored.set(KEY, countingBytes(3)); // No shard at all.
    const { store, log } = logged(stored);
    const changes = new Map([[1, countingBytes(4)]]);
    await assertRejects(
      () => changeShard(store, KEY, layout, changes),
      DamageError,
    );
    assertEquals(await stored.get(KEY), countingBytes(3));
    log.length = 0;
    await changeShard(store, KEY, layout, changes, { isWhole: true });
    assertEquals(log, [`getRange ${KEY}`, `set ${KEY}`]);
    const found = await contents(stored, layout);
    assertEquals(found.chunks, [undefined, countingBytes(4)]);
  }
});

Deno.test("changeShard keeps a head of the right length, and replaces a shorter one by zeros", async () => {
  for (const layout of AT_END) {
    for (const [length, expected] of [[4, 0], [5, 1], [6, 1]] as const) {
      const stored = new MemoryStore([[KEY, new Uint8Array(length).fill(1)]]);
      const changes = new Map([[0, countingBytes(2)]]);
      const options = { isWhole: true, headSize: 5 };
      await changeShard(stored, KEY, layout, changes, options);
      const { shard, offsets } = await contents(stored, layout);
      assertEquals(shard.slice(0, 5), new Uint8Array(5).fill(expected));
      assertEquals(offsets[0], 5);
    }
  }
});

Deno.test("changeShard replaces the prefix by the given one, also by an empty one", async () => {
  for (const layout of AT_END) {
    for (const prefix of [new Uint8Array(), countingBytes(9, 50)]) {
      const stored = new MemoryStore();
      const chunks = [countingBytes(3), undefined, countingBytes(4, 7)];
      const old = { prefix: countingBytes(5, 100) };
      await stored.set(KEY, encodeShard(chunks, layout, old));
      const changes = new Map([[1, countingBytes(2)]]);
      await changeShard(stored, KEY, layout, changes, { prefix });
      const { shard, offsets } = await contents(stored, layout);
      assertEquals(shard.slice(0, prefix.length), prefix);
      const start = prefix.length;
      assertEquals(offsets, [start, start + 3, start + 5]);
    }
  }
});
