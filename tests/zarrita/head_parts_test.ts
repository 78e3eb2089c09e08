/** Shards with parts before the unsized one, which inner chunks never lie in. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import * as zarr from "zarrita";
import {
  type ArrayChunks,
  createArrayChunks,
  DamageError,
  encodeShard,
  MemoryStore,
  readShardIndex,
} from "../../mod.ts";
import { registerCodecs, setSharded } from "../../zarrita.ts";
import { contentsOf } from "../support/bytes.ts";
import { concatParts } from "../support/metadata.ts";
import { layoutOf, numbers, openIn, shardedMetadata } from "./sharded_array.ts";

registerCodecs(zarr.registry);

const INDEX = { key_suffix: ".index", size: 36 };
const HEADER = { key_suffix: ".header", size: 4 };
const BODY = { key_suffix: "" };

/** Storage transformers, and the size of their head parts. */
const HEADS = {
  "a header": [[concatParts(HEADER, BODY)], 4],
  "a header and an index": [[concatParts(HEADER, BODY, INDEX)], 4],
  "two headers": [
    [concatParts(HEADER, { key_suffix: ".more", size: 1 }, BODY)],
    5,
  ],
  "a header of a part": [
    [concatParts(BODY, INDEX), concatParts(HEADER, BODY)],
    4,
  ],
  "a header that has parts": [
    [
      concatParts({ key_suffix: ".head", size: 6 }, BODY),
      concatParts({ key_suffix: ".a", size: 2 }, BODY),
    ],
    8,
  ],
} as const;

async function arrayWith(
  storage_transformers: unknown,
  location: "start" | "end" = "end",
) {
  const stored = new MemoryStore();
  const metadata = shardedMetadata({ storage_transformers }, { location });
  const chunks = await createArrayChunks(stored, "a", metadata);
  return { stored, chunks, layout: layoutOf(metadata) };
}

/** Asserts that no inner chunk of the first shard starts before an offset. */
async function assertStartsAfter(
  size: number,
  { chunks, layout }: Awaited<ReturnType<typeof arrayWith>>,
): Promise<void> {
  const index = await readShardIndex(
    (range) => chunks.getRange([0], range),
    layout,
  );
  const offsets = index!.map((entry) => entry!.offset);
  assert(offsets.every((offset) => offset >= size), String(offsets));
}

async function elements(stored: MemoryStore): Promise<number[]> {
  return Array.from((await zarr.get(await openIn(stored, "a"))).data);
}

/** The first bytes of the first shard. */
async function headOf(chunks: ArrayChunks, length: number) {
  const bytes = await chunks.getRange([0], { offset: 0, length });
  return Array.from(bytes!);
}

for (const [name, [transformers, size]] of Object.entries(HEADS)) {
  Deno.test(`setSharded refuses a prefix that does not fill ${name} exactly, and writes nothing`, async () => {
    const { stored } = await arrayWith(transformers);
    const array = await openIn(stored, "a");
    const before = await contentsOf(stored);
    for (const alignment of [1, 3, 64]) {
      for (const length of [0, 1, size - 1, size + 1, 64]) {
        await assertRejects(
          () =>
            setSharded(zarr, array, null, 5, {
              prefix: new Uint8Array(length),
              alignment,
            }),
          RangeError,
          `Expected a prefix of ${size} bytes for the array at "/a", as many as its head parts take, found ${length} bytes`,
        );
      }
    }
    assertEquals(await contentsOf(stored), before);
  });

  Deno.test(`setSharded and zarr.set store inner chunks after ${name}, and keep it`, async () => {
    for (const alignment of [1, 3, 64]) {
      for (const prefix of [new Uint8Array(size).fill(7), undefined]) {
        const stored = await arrayWith(transformers);
        const array = await openIn(stored.stored, "a");
        const data = new Uint8Array(numbers(12));
        await setSharded(zarr, array, null, data, { prefix, alignment });
        await assertStartsAfter(size, stored);
        const head = Array(size).fill(prefix ? 7 : 0);
        assertEquals(await headOf(stored.chunks, size), head);
        const changes = [
          () => zarr.set(array, [0], 1),
          () => setSharded(zarr, array, [3], 4),
          () => setSharded(zarr, array, null, data),
        ];
        for (const change of changes) {
          await change();
          await assertStartsAfter(size, stored);
          assertEquals(await headOf(stored.chunks, size), head);
          assertEquals(await elements(stored.stored), numbers(12));
        }
      }
    }
  });

  Deno.test(`setSharded and zarr.set move inner chunks of another program out of ${name}`, async () => {
    const ways = {
      set: (array: Awaited<ReturnType<typeof openIn>>) =>
        zarr.set(array, [0], 1),
      setSharded: (array: Awaited<ReturnType<typeof openIn>>) =>
        setSharded(zarr, array, [3], 4),
    };
    for (const [way, write] of Object.entries(ways)) {
      const stored = await arrayWith(transformers);
      const { chunks, layout } = stored;
      const inner = [[1, 2], [3, 4]].map((bytes) => new Uint8Array(bytes));
      await chunks.set([0], encodeShard(inner, layout));
      const before = await headOf(chunks, size);
      assertEquals(before.slice(0, 4), [1, 2, 3, 4]);
      await write(await openIn(stored.stored, "a"));
      await assertStartsAfter(size, stored);
      // No old bytes are left of the inner chunks, and of an index behind them.
      assertEquals(await headOf(chunks, size), before.map(() => 0), way);
      const found = await elements(stored.stored);
      assertEquals(found.slice(0, 4), [1, 2, 3, 4]);
    }
  });
}

Deno.test("setSharded replaces a shard whose header is missing, and stores zeros for it", async () => {
  const { stored } = await arrayWith(HEADS["a header"][0]);
  const array = await openIn(stored, "a");
  await setSharded(zarr, array, null, 5, { prefix: new Uint8Array(4).fill(7) });
  await stored.delete("/a/c/0.header");
  await assertRejects(() => setSharded(zarr, array, [3], 4), DamageError);
  await setSharded(zarr, array, null, new Uint8Array(numbers(12)));
  assertEquals(await stored.get("/a/c/0.header"), new Uint8Array(4));
  assertEquals(await elements(stored), numbers(12));
});
