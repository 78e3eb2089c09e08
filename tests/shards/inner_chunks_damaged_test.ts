import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertRejects,
} from "@std/assert";
import {
  arrayMetadata,
  ChecksumError,
  createArrayChunks,
  DamageError,
  encodeShard,
  HttpStore,
  MemoryStore,
  shardIndexSize,
} from "../../mod.ts";
import { InnerChunks } from "../../src/shards/inner_chunks.ts";
import { withZarrParts } from "../../zarrita.ts";
import { serve, storeHandler } from "../stores/loopback.ts";
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
        () => Array.fromAsync(inner.reader.list(KEY)),
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
        [layout.indexLocation === "end" ? 9n : 31n, 2n],
        [layout.indexLocation === "end" ? 10n : 0n, 1n],
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
    const isAtEnd = layout.indexLocation === "end";
    const last = await innerOf(
      shardOf([[isAtEnd ? 9n : size - 1n, 1n], [ABSENT, ABSENT]], layout),
      layout,
    );
    assertEquals((await last.at([[0]]).get(KEY))?.length, 1);
    assertEquals(await last.at([[1]]).get(KEY), undefined);
  }
});

Deno.test("InnerChunks rejects an inner chunk outside of its nested shard, also inside of the outer shard", async () => {
  for (const layout of WITHOUT_CHECKSUM) {
    const isAtEnd = layout.indexLocation === "end";
    const innerSize = BigInt(shardIndexSize(layout) + 10);
    for (
      const [entry, isInside] of [
        [[isAtEnd ? 8n : innerSize - 2n, 2n], true],
        [[isAtEnd ? 9n : 31n, 2n], false],
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
      assertEquals((await inner.at([[1]]).get(KEY))?.length, 30);
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

/** The parts of a shard with an index of 32 bytes, at its end and at its start. */
const PARTS = {
  end: [[""], ["", ".index:32"], [".head:1", "", ".index:32"], ["", ".t:40"]],
  start: [[""], [".index:32", ""], [".head:33", ""]],
};

Deno.test("withZarrParts rejects inner chunks that lie in the index or overlap, in any parts and stores", async () => {
  for (const location of ["end", "start"] as const) {
    const first = location === "start" ? 32n : 1n;
    const layout = LAYOUTS.find((it) =>
      !it.indexHasChecksum && it.indexLocation === location &&
      it.indexEndian === "little"
    )!;
    const DAMAGED: [readonly StoredEntry[], (string | undefined)[]][] = [
      [[[first, 4n], [first + 4n, 5n]], [undefined, undefined]],
      [[[first, 4n], [first, 4n]], [undefined, undefined]],
      [[[first, 4n], [first + 3n, 5n]], ["overlap", "overlap"]],
      [[[first, 4n], [first, 5n]], ["overlap", "overlap"]],
      location === "start"
        ? [[[first, 4n], [31n, 1n]], ["from 31 on", "from 31 on"]]
        : [[[first, 4n], [9n, 2n]], [undefined, "from 9 on"]],
      location === "start"
        ? [[[0n, 32n], [first, 1n]], ["from 0 on", "from 0 on"]]
        : [[[first, 4n], [10n, 32n]], [undefined, "from 10 on"]],
    ];
    for (const parts of PARTS[location]) {
      const stored = new MemoryStore();
      const chunks = await createArrayChunks(stored, "", {
        ...arrayMetadata({
          shape: [2],
          dataType: "uint8",
          shardShape: [2],
          chunkShape: [1],
          indexLocation: location,
          parts,
        }),
        codecs: [{
          name: "sharding_indexed",
          configuration: {
            chunk_shape: [1],
            codecs: [{ name: "bytes" }],
            index_codecs: [
              { name: "bytes", configuration: { endian: "little" } },
            ],
            index_location: location,
          },
        }],
      });
      const http = serve(storeHandler(stored));
      try {
        for (const [entries, errors] of DAMAGED) {
          await chunks.set([0], shardOf(entries, layout));
          for (const store of [stored, new HttpStore(http.url)]) {
            const plain = await withZarrParts(store);
            for (const [i, error] of errors.entries()) {
              const text = `${location} ${parts} ${entries} ${i}`;
              const read = async () => await plain.get(`/c/${i}`);
              if (error === undefined) assert(await read(), text);
              else {
                const found = await assertRejects(read, DamageError, error);
                assertEquals(found.key, "/c/0", text);
              }
            }
          }
        }
      } finally {
        await http.close();
      }
    }
  }
});
