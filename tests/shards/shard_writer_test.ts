/** Changes of inner chunks and whole shards, and the other bytes of a file that these refuse to lose. */
import { assertEquals, assertRejects } from "@std/assert";
import {
  DamageError,
  decodeShardIndex,
  encodeShard,
  encodeShardIndex,
  MemoryStore,
  OtherBytesError,
  shardIndexSize,
  type ShardLayout,
  type StoreKey,
} from "../../mod.ts";
import {
  encodeFileRecord,
  setShard,
  type ShardForm,
  ShardReader,
  ShardWriter,
} from "../../src/shards/mod.ts";
import { backendOf } from "../../src/stores/mod.ts";
import { withoutVersions } from "../support/without_versions.ts";

const KEY: StoreKey = "/c/0";
const LAYOUT: ShardLayout = {
  chunksPerShard: [3],
  indexLocation: "end",
  indexEndian: "little",
  indexHasChecksum: false,
};
const FORM = { layouts: [LAYOUT] };
const A = Uint8Array.of(1, 2);
const B = Uint8Array.of(3, 4, 5);

function chunksOf(shard: Uint8Array, layout = LAYOUT) {
  const size = shardIndexSize(layout);
  const index = layout.indexLocation === "start"
    ? shard.subarray(0, size)
    : shard.subarray(-size);
  return decodeShardIndex(index, layout).map((entry) =>
    entry && shard.slice(entry.offset, entry.offset + entry.length)
  );
}

Deno.test("ShardWriter stores the changes of one turn by one update, and keeps other inner chunks", async () => {
  for (const isForeign of [false, true]) {
    const store = new MemoryStore();
    const given = backendOf(isForeign ? withoutVersions(store) : store);
    let updates = 0;
    const writer = new ShardWriter({
      read: (...args) => given.read(...args),
      update(...args) {
        updates++;
        return given.update!(...args);
      },
    }, FORM);
    await Promise.all([
      writer.change(KEY, [[0]], A),
      writer.change(KEY, [[2]], A),
      writer.change(KEY, [[2]], B),
      writer.change("/c/1", [[0]], B),
    ]);
    assertEquals(updates, 2);
    await writer.change(KEY, [[1]], A);
    assertEquals(chunksOf((await store.get(KEY))!), [A, A, B]);
    await Promise.all(
      [0, 1, 2].map((i) => writer.change(KEY, [[i]], undefined)),
    );
    assertEquals(await store.get(KEY), undefined);
    assertEquals(updates, 4);
  }
});

Deno.test("ShardWriter loses no change of writers at once, of one object and of several", async () => {
  const layout = { ...LAYOUT, chunksPerShard: [20] };
  for (const isForeign of [false, true]) {
    const stored = new MemoryStore();
    const store = isForeign ? withoutVersions(stored) : stored;
    const writers = Array.from(
      { length: 3 },
      () => new ShardWriter(backendOf(store), { layouts: [layout] }),
    );
    await Promise.all(Array.from({ length: 20 }, async (_, i) => {
      for (let turn = 0; turn < i % 7; turn++) await undefined;
      await writers[i % 3]!.change(KEY, [[i]], Uint8Array.of(i));
    }));
    assertEquals(
      chunksOf((await stored.get(KEY))!, layout),
      Array.from({ length: 20 }, (_, i) => Uint8Array.of(i)),
    );
  }
});

Deno.test("ShardWriter keeps head parts, without the inner chunks in them", async () => {
  const form = { ...FORM, headSize: 4 };
  const store = new MemoryStore();
  const writer = new ShardWriter(store, form);
  const head = async () => (await store.get(KEY))!.slice(0, 4);
  await writer.change(KEY, [[0]], A);
  assertEquals(await head(), new Uint8Array(4));
  const prefix = Uint8Array.of(9, 8, 7, 6);
  await writer.write(KEY, new Map([[1, B]]), { prefix });
  for (const isWhole of [false, true]) {
    await writer.write(KEY, new Map([[2, A]]), { isWhole });
    assertEquals(await head(), prefix);
  }
  assertEquals(chunksOf((await store.get(KEY))!), [undefined, undefined, A]);
  // An inner chunk that another program has put into the head moves out of it.
  const index = encodeShardIndex([
    { offset: 1, length: 2 },
    undefined,
    undefined,
  ], LAYOUT);
  await store.set(KEY, new Uint8Array([9, 1, 2, 6, ...index]));
  await writer.change(KEY, [[1]], B);
  assertEquals(await head(), Uint8Array.of(9, 0, 0, 6));
  assertEquals(chunksOf((await store.get(KEY))!), [A, B, undefined]);
});

/** The pieces of a shard: inner chunks by their places, and other bytes. */
type Pieces = readonly (0 | 1 | readonly number[])[];

function shardOf(
  pieces: Pieces,
  layout: ShardLayout,
  headSize = 0,
): Uint8Array {
  const bytes: number[] = [];
  const size = shardIndexSize(layout);
  const isAtStart = layout.indexLocation === "start";
  const start = isAtStart ? Math.max(size, headSize) : headSize;
  const index: ({ offset: number; length: number } | undefined)[] = Array(3)
    .fill(undefined);
  for (const piece of pieces) {
    const given = piece === 0 ? A : piece === 1 ? B : piece;
    if (typeof piece === "number") {
      index[piece] = { offset: start + bytes.length, length: given.length };
    }
    bytes.push(...given);
  }
  const head = isAtStart ? [] : new Uint8Array(headSize).fill(77);
  const encoded = encodeShardIndex(index, layout);
  return isAtStart
    ? new Uint8Array([...encoded, ...bytes])
    : new Uint8Array([...head, ...bytes, ...encoded]);
}

const H = [91, 92, 0];
const SHARDS: [
  string,
  Pieces,
  refused?: [number, number],
  withPrefix?: [number, number],
][] = [
  ["inner chunks", [1, 0]],
  ["aligned inner chunks", [[0, 0], 0, [0], 1, [0]]],
  ["no inner chunks", []],
  ["a header", [H, 0, 1], [0, 3]],
  ["a header that ends with zeros", [[5, 0, 0], 1], [0, 3]],
  ["a header alone", [H], [0, 3]],
  ["bytes between inner chunks", [0, [0, 7], 1], [2, 2], [2, 2]],
  ["bytes behind inner chunks", [0, 1, [0, 0, 7]], [5, 3], [5, 3]],
  ["a zip", [H, 1, H, 0, [9]], [0, 3], [6, 3]],
];
const FORMS: [string, ShardForm, start: number][] = [
  ["the index at the end", FORM, 0],
  ["the index at the start", {
    layouts: [{ ...LAYOUT, indexLocation: "start" }],
  }, 48],
  ["a head part", { ...FORM, headSize: 4 }, 4],
];

for (const [what, pieces, refused, withPrefix] of SHARDS) {
  Deno.test(`writes of a shard of ${what} are refused only if other bytes would be lost`, async () => {
    for (const [where, form, start] of FORMS) {
      const layout = form.layouts[0]!;
      const shard = shardOf(pieces, layout, form.headSize);
      const container = {
        head: () => new Uint8Array(form.headSize ?? 0),
        tail: () => Uint8Array.of(5),
      };
      const isAtEnd = layout.indexLocation === "end";
      const changes = new Map([[2, A]]);
      const hasPrefix = isAtEnd && !form.headSize;
      for (const isForeign of [false, true]) {
        const store = new MemoryStore();
        const backend = backendOf(isForeign ? withoutVersions(store) : store);
        const writer = new ShardWriter(backend, form);
        const value = encodeShard(
          [A, B, A],
          layout,
          isAtEnd ? { prefix: new Uint8Array(form.headSize ?? 0) } : {},
        );
        const prefix = new Uint8Array(2);
        const writes: [() => Promise<void>, [number, number] | undefined][] = [
          [() => writer.change(KEY, [[2]], A), refused],
          [() => writer.write(KEY, changes, { isWhole: true }), refused],
          [() => writer.write(KEY, new Map(), { isWhole: true }), refused],
          [() => setShard(backend, KEY, form, value, {}), refused],
          [
            () =>
              setShard(backend, KEY, form, ReadableStream.from([value]), {
                exclusive: true,
              }),
            refused,
          ],
          [
            () => writer.write(KEY, changes, { otherBytes: "replace" }),
            undefined,
          ],
          [
            () =>
              setShard(backend, KEY, form, value, { otherBytes: "replace" }),
            undefined,
          ],
          [() => setShard(backend, KEY, undefined, value, {}), undefined],
          ...hasPrefix
            ? [false, true].map((
              isWhole,
            ): [() => Promise<void>, [number, number] | undefined] => [
              () => writer.write(KEY, changes, { isWhole, prefix }),
              withPrefix,
            ])
            : [],
          ...isAtEnd
            ? [
              [() => writer.write(KEY, changes, { container }), undefined] as [
                () => Promise<void>,
                undefined,
              ],
            ]
            : [],
        ];
        for (const [i, [write, expected]] of writes.entries()) {
          await store.set(KEY, shard);
          if (expected === undefined) {
            await write();
            continue;
          }
          const error = await assertRejects(write, OtherBytesError);
          const at = [error.offset - start, error.length];
          assertEquals(at, expected, `${where}, write ${i}`);
          assertEquals(await store.get(KEY), shard);
        }
      }
    }
  });
}

Deno.test("ShardWriter and setShard repair a damaged shard as a whole, but no file that may be adopted", async () => {
  const store = new MemoryStore();
  const damaged = new Uint8Array(20);
  const adopted = { ...FORM, mayHaveRecords: true };
  const value = encodeShard([A, undefined, B], LAYOUT);
  for (const form of [FORM, adopted]) {
    const writer = new ShardWriter(store, form);
    const isRefused = form === adopted;
    const writes = [
      () => writer.write(KEY, new Map([[0, A]]), { isWhole: true }),
      () => setShard(store, KEY, form, value, {}),
    ];
    for (const write of writes) {
      await store.set(KEY, damaged);
      if (isRefused) await assertRejects(write, DamageError);
      else await write();
      const isKept = (await store.get(KEY))!.length === 20;
      assertEquals(isKept, isRefused);
    }
    await store.set(KEY, damaged);
    await assertRejects(() => writer.change(KEY, [[0]], A), DamageError);
  }
  const writer = new ShardWriter(store, { ...FORM, headSize: 4 });
  await store.set(KEY, damaged.fill(7));
  await writer.write(KEY, new Map([[0, A]]), { isWhole: true });
  assertEquals((await store.get(KEY))!.slice(0, 4), Uint8Array.of(7, 7, 7, 7));
});

Deno.test("ShardWriter rewrites adopted files by a container only if they were adopted as a whole", async () => {
  const form = { ...FORM, mayHaveRecords: true };
  const file = new Uint8Array([...A, 99]);
  const index = encodeShardIndex([
    { offset: 0, length: 2 },
    undefined,
    undefined,
  ], LAYOUT);
  const container = { tail: () => encodeFileRecord({ size: 5, contents: 0 }) };
  for (
    const [contents, size, refusal] of [
      [0, 3, undefined],
      [7, 3, OtherBytesError],
      [0, 4, DamageError],
    ] as const
  ) {
    const record = encodeFileRecord({ size, contents });
    const store = new MemoryStore([
      [KEY, new Uint8Array([...file, ...record, ...index])],
    ]);
    const writer = new ShardWriter(store, form);
    const write = () => writer.write(KEY, new Map([[1, B]]), { container });
    if (refusal) await assertRejects(write, refusal);
    else {
      await write();
      const reader = new ShardReader(store, form);
      assertEquals(await reader.read(KEY, [[0]], {}), A);
      assertEquals(await reader.read(KEY, [[1]], {}), B);
    }
  }
});

Deno.test("ShardWriter gives the stored inner chunks to a function of changes, and keeps the shard without any", async () => {
  const store = new MemoryStore([[
    KEY,
    encodeShard([A, undefined, B], LAYOUT, { alignment: 8 }),
  ]]);
  const writer = new ShardWriter(store, FORM);
  const before = await store.get(KEY);
  await writer.write(KEY, (chunkAt) => {
    assertEquals([0, 1, 2].map(chunkAt), [A, undefined, B]);
    return new Map();
  });
  assertEquals(await store.get(KEY), before);
  await writer.write(KEY, (chunkAt) => new Map([[1, chunkAt(2)!.slice(1)]]));
  assertEquals(chunksOf((await store.get(KEY))!), [A, B.slice(1), B]);
});
