/** Damaged parts and indexes, in all ways of reading a chunk. */
import { assert, assertEquals } from "@std/assert";
import {
  assertShardIndex,
  ConcatParts,
  concatStream,
  readInnerChunk,
  readShardIndex,
  type ReadShardRange,
  splitStream,
  type StoreKey,
} from "../../mod.ts";
import { readAll, streamOf } from "../stores/store_values.ts";
import { stride } from "../support/runs.ts";
import {
  BYTES,
  CHANGES,
  damaged,
  ELEMENTS,
  joinedParts,
  KEY,
  type Kind,
  KINDS,
  outcomeOf,
  READ_ELEMENTS,
  SIZES,
  type Stored,
  storedArray,
} from "./damaged_arrays.ts";

const SHIFTS = ["cut by its first byte", "longer by a byte before it"];

/** Calls a function for each part of a chunk and each change of the part. */
async function forEachDamage(
  kind: Kind,
  check: (damage: {
    suffix: string;
    size: number | undefined;
    how: string;
    isAbsent: boolean;
    store: () => Promise<Stored>;
    text: (reader: string) => string;
  }) => Promise<void>,
): Promise<void> {
  for (const [suffix, size] of kind.parts) {
    for (const [how, change] of Object.entries(CHANGES)) {
      await check({
        suffix,
        size,
        how,
        isAbsent: how === "missing" && kind.parts.length === 1,
        store: () => damaged(kind, suffix, change),
        text: (reader) => `${reader} where ${KEY}${suffix} is ${how}`,
      });
    }
  }
}

for (const [name, kind] of Object.entries(KINDS)) {
  const isChecked = kind.options?.codecs !== undefined;
  const isSharded = kind.options?.shardShape !== undefined;

  Deno.test(`a chunk ${name} is read without damage`, async () => {
    const stored = await storedArray(kind);
    const whole = await joinedParts(stored, kind);
    for (const read of Object.values(BYTES)) {
      assertEquals(await read(stored), whole);
    }
    for (const read of Object.values(SIZES)) {
      assertEquals(await read(stored), whole.length);
    }
    for (const read of Object.values(READ_ELEMENTS)) {
      assertEquals(await read(stored), ELEMENTS);
    }
  });

  Deno.test(`a chunk ${name} is damaged if a sized part has another length, or a part is missing`, async () => {
    await forEachDamage(kind, async ({ size, how, isAbsent, store, text }) => {
      const stored = await store();
      const isNoticed = how === "missing" || size !== undefined;
      let bytes: Uint8Array | "damage" | undefined;
      if (isNoticed) bytes = isAbsent ? undefined : "damage";
      else bytes = await joinedParts(stored, kind);
      for (const [reader, read] of Object.entries(BYTES)) {
        assertEquals(await outcomeOf(read(stored)), bytes, text(reader));
      }
      const length = bytes === "damage" ? bytes : bytes?.length;
      for (const [reader, read] of Object.entries(SIZES)) {
        assertEquals(await outcomeOf(read(stored)), length, text(reader));
      }
    });
  });

  Deno.test(`elements of a chunk ${name} are never wrong if a part has changed`, async () => {
    const { layout } = await storedArray(kind);
    const isLast = layout?.indexLocation === "start" || kind.parts.length > 1;
    await forEachDamage(kind, async (damage) => {
      const { suffix, size, how, isAbsent, store, text } = damage;
      // Nothing tells that the bytes of inner chunks without checksums have moved.
      const isShifted = SHIFTS.includes(how) && size === undefined;
      if (isShifted && isSharded && !isChecked) return;
      // Some ways of reading look at the header, and some do not need to.
      const isHeader = isSharded && suffix === kind.header;
      const isUnread = isHeader || isSharded && !kind.hasTail &&
          how === "longer by a zero" && size === undefined && isLast;
      let elements: Uint8Array | "damage" = "damage";
      if (isUnread) elements = ELEMENTS;
      else if (isAbsent) elements = new Uint8Array(8);
      for (const [reader, read] of Object.entries(READ_ELEMENTS)) {
        // Writing needs a header, which reading does not, and fills an absent chunk.
        if (reader.includes("set") && elements !== "damage") continue;
        const outcome = await outcomeOf(read(await store()));
        if (isHeader && outcome === "damage") continue;
        assertEquals(outcome, elements, text(reader));
      }
    });
  });

  if (isSharded) testIndex(name, kind);
  if (kind.transformers === undefined) testStreams(name, kind);
}

/** The bits that stand for all: of the low and the high bytes of an offset and of a length, and of a checksum. */
const INDEX_BITS = [0, 7, 40, 55, 63, 64, 71, 104, 127, 128, 191, 192, 255];

function testIndex(name: string, kind: Kind): void {
  Deno.test(`a chunk ${name} is damaged if a bit of its index is flipped`, async () => {
    const { layout } = await storedArray(kind);
    const { indexHasChecksum, indexLocation } = layout!;
    const bits = indexHasChecksum ? [...INDEX_BITS, 256, 263, 287] : INDEX_BITS;
    for (const bit of bits) {
      // Without any checksum, a low bit makes another index that can be right.
      const isHigh = bit < 256 && bit % 64 >= 40;
      if (!indexHasChecksum && !kind.options?.codecs && !isHigh) continue;
      const stored = await storedArray(kind);
      const shard = (await stored.chunks.get([0]))!;
      const size = indexHasChecksum ? 36 : 32;
      const start = indexLocation === "start" ? 0 : shard.length - size;
      shard[start + (bit >> 3)]! ^= 1 << (bit & 7);
      await stored.chunks.set([0], shard);
      for (const [reader, read] of Object.entries(READ_ELEMENTS)) {
        const outcome = await outcomeOf(read(stored));
        assertEquals(outcome, "damage", `${reader}, bit ${bit}`);
      }
      const read: ReadShardRange = (range) =>
        stored.chunks.getRange([0], range);
      if (!indexHasChecksum && !isHigh) continue;
      const inner = [0, 1].map((c) =>
        outcomeOf(readInnerChunk(read, layout!, [c], { key: KEY }))
      );
      assert((await Promise.all(inner)).includes("damage"), `bit ${bit}`);
    }
  });

  Deno.test(`assertShardIndex or reading refuses a chunk ${name} if a part has another length`, async () => {
    const { layout } = await storedArray(kind);
    await forEachDamage(kind, async (damage) => {
      const { suffix, size, how, isAbsent, store, text } = damage;
      if (suffix === kind.header || isAbsent) return;
      if (how.startsWith("longer") && size === undefined) return;
      const { chunks } = await store();
      const checked = async () => {
        const read: ReadShardRange = (range) => chunks.getRange([0], range);
        const index = await readShardIndex(read, layout!, KEY);
        assertShardIndex(index!, layout!, (await chunks.size([0]))!, KEY);
      };
      assertEquals(await outcomeOf(checked()), "damage", text("index"));
    });
  });
}

function testStreams(name: string, kind: Kind): void {
  const parts = new ConcatParts(
    kind.parts.map(([keySuffix, size]) => ({ keySuffix, size })),
  );
  const isVerified = kind.options?.codecs !== undefined &&
    kind.options.shardShape === undefined;
  const optionsFor = async () => ({
    crc32c: isVerified ? "verify" : "none",
    key: KEY,
    chunkSize: (await joinedParts(await storedArray(kind), kind)).length,
  } as const);
  const concat = async ({ store }: Stored) => {
    const open = async ({ keySuffix }: { keySuffix: string }) =>
      streamOf((await store.get(`${KEY}${keySuffix}` as StoreKey))!);
    return await readAll(concatStream(parts, open, await optionsFor()));
  };
  const split = async (chunk: Uint8Array) => {
    const open = () => new WritableStream();
    return await splitStream(streamOf(chunk), parts, open, await optionsFor());
  };

  Deno.test(`concatStream and splitStream refuse a chunk ${name} if a part has changed`, async () => {
    await concat(await storedArray(kind));
    await forEachDamage(kind, async ({ how, store, text }) => {
      if (how === "missing") return;
      const stored = await store();
      assertEquals(await outcomeOf(concat(stored)), "damage", text("concat"));
      const splitting = split(await joinedParts(stored, kind));
      assertEquals(await outcomeOf(splitting), "damage", text("split"));
    });
    if (!isVerified) return;
    const chunk = await joinedParts(await storedArray(kind), kind);
    await split(chunk);
    for (let bit = 0; bit < 8 * chunk.length; bit += stride(7)) {
      const flipped = chunk.slice();
      flipped[bit >> 3]! ^= 1 << (bit & 7);
      const stored = await storedArray(kind);
      await stored.chunks.set([0], flipped);
      for (
        const reading of [
          split(flipped),
          concat(stored),
          READ_ELEMENTS["zarr.get"]!(stored),
        ]
      ) assertEquals(await outcomeOf<unknown>(reading), "damage", `bit ${bit}`);
    }
  });
}
