/** All damage that a stored chunk can suffer, read in all ways. */
import { assert, assertEquals } from "@std/assert";
import * as zarr from "zarrita";
import {
  assertShardIndex,
  ConcatParts,
  concatStream,
  DamageError,
  plainView,
  readInnerChunk,
  readShardIndex,
  type ReadShardRange,
  splitStream,
  type StoreKey,
} from "../../mod.ts";
import { registerCodecs, withZarrParts } from "../../src/zarrita/mod.ts";
import { readAll, streamOf } from "../stores/store_values.ts";
import {
  ELEMENTS,
  joinedParts,
  KEY,
  type Kind,
  KINDS,
  type Stored,
  storedArray,
} from "./damaged_arrays.ts";

registerCodecs(zarr);

/** Changes of a part; `undefined` removes it. */
const CHANGES: Record<string, (part: Uint8Array) => Uint8Array | undefined> = {
  "cut by its last byte": (part) => part.slice(0, -1),
  "cut by its first byte": (part) => part.slice(1),
  "emptied": () => new Uint8Array(),
  "longer by a zero": (part) => new Uint8Array([...part, 0]),
  "longer by a byte before it": (part) => new Uint8Array([255, ...part]),
  "missing": () => undefined,
};
const SHIFTS = ["cut by its first byte", "longer by a byte before it"];

type Read<T> = (stored: Stored) => Promise<T>;

/** The ways of reading the encoded chunk. */
const BYTES: Record<string, Read<Uint8Array | undefined>> = {
  "ArrayChunks.get": ({ chunks }) => chunks.get([0]),
  "ArrayChunks.stream": async ({ chunks }) => readAll(await chunks.stream([0])),
  "ArrayChunks.getRange": ({ chunks }) =>
    chunks.getRange([0], { offset: 0, length: 999 }),
  "ArrayChunks.getRange of the last bytes": ({ chunks }) =>
    chunks.getRange([0], { suffixLength: 999 }),
  "plainView.get": ({ store }) => plainView(store).get(KEY),
  "plainView.stream": async ({ store }) =>
    readAll(await plainView(store).stream(KEY)),
  "plainView.getRange": ({ store }) =>
    plainView(store).getRange(KEY, { suffixLength: 999 }),
};

/** The ways of asking for the length of the encoded chunk. */
const SIZES: Record<string, Read<number | undefined>> = {
  "ArrayChunks.size": ({ chunks }) => chunks.size([0]),
  "plainView.size": ({ store }) => plainView(store).size(KEY),
};

/** The ways of reading the elements. */
const READ_ELEMENTS: Record<string, Read<Uint8Array>> = {
  "zarr.get": async (stored) =>
    (await zarr.get(await opened(stored))).data as Uint8Array,
  async "zarr.get of one element after the other"(stored) {
    const array = await opened(stored);
    const elements: number[] = [];
    for (const i of ELEMENTS.keys()) {
      elements.push(await zarr.get(array, [i]) as number);
    }
    return new Uint8Array(elements);
  },
  async "zarr.set of one element, and zarr.get"(stored) {
    const array = await opened(stored);
    for (const i of [1, 6]) {
      const before = await contents(stored);
      try {
        await zarr.set(array, [i], ELEMENTS[i] as never);
      } catch (error) {
        assertEquals(await contents(stored), before);
        throw error;
      }
    }
    return (await zarr.get(await opened(stored))).data as Uint8Array;
  },
};

async function opened({ store }: Stored) {
  const root = zarr.root(withZarrParts(store)).resolve("a");
  return await zarr.open(root, { kind: "array" });
}

async function contents({ store }: Stored): Promise<[string, Uint8Array][]> {
  const keys = (await Array.fromAsync(store.list("/a/c/"))).sort();
  return await Promise.all(
    keys.map(async (key) =>
      [key, (await store.get(key))!] as [string, Uint8Array]
    ),
  );
}

/** What reading gives, or "damage" for an error about damage that names a key of the chunk. */
async function outcomeOf<T>(reading: Promise<T>): Promise<T | "damage"> {
  try {
    return await reading;
  } catch (error) {
    for (let it = error; it !== undefined; it = (it as Error).cause) {
      assert(!(it instanceof RangeError), String(it));
      if (!(it instanceof DamageError)) continue;
      assert(it.key.startsWith(KEY), `${it.name} has the key "${it.key}"`);
      assert(it.message.includes(`"${it.key}"`), it.message);
      return "damage";
    }
    throw error;
  }
}

/** Stores an array, with one part of its chunk changed. */
async function damaged(
  kind: Kind,
  suffix: string,
  change: (part: Uint8Array) => Uint8Array | undefined,
): Promise<Stored> {
  const stored = await storedArray(kind);
  const key = `${KEY}${suffix}` as StoreKey;
  const part = change((await stored.store.get(key))!);
  if (part === undefined) await stored.store.delete(key);
  else await stored.store.set(key, part);
  return stored;
}

for (const [name, kind] of Object.entries(KINDS)) {
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

  for (const [suffix, size] of kind.parts) {
    for (const [how, change] of Object.entries(CHANGES)) {
      const isAbsent = how === "missing" && kind.parts.length === 1;
      Deno.test(`a chunk ${name} is ${isAbsent ? "absent" : "damaged"} if ${KEY}${suffix} is ${how}`, async () => {
        const stored = await damaged(kind, suffix, change);
        const isNoticed = how === "missing" || size !== undefined;
        const bytes = isAbsent
          ? undefined
          : isNoticed
          ? "damage"
          : await joinedParts(stored, kind);
        for (const [reader, read] of Object.entries(BYTES)) {
          assertEquals(await outcomeOf(read(stored)), bytes, reader);
        }
        const length = bytes === "damage" ? bytes : bytes?.length;
        for (const [reader, read] of Object.entries(SIZES)) {
          assertEquals(await outcomeOf(read(stored)), length, reader);
        }
      });

      const { layout } = await storedArray(kind);
      const isChecked = layout === undefined || kind.options?.codecs;
      // Nothing tells that the bytes of inner chunks without checksums have moved.
      if (SHIFTS.includes(how) && !isChecked && size === undefined) continue;
      const isLast = layout?.indexLocation === "start" || kind.parts.length > 1;
      const isUnread = layout !== undefined && !kind.hasTail &&
        (suffix === kind.header ||
          how === "longer by a zero" && size === undefined && isLast);
      const outcome = isUnread ? "read" : isAbsent ? "absent" : "damaged";
      Deno.test(`elements of a chunk ${name} are ${outcome} if ${KEY}${suffix} is ${how}`, async () => {
        const elements = isUnread
          ? ELEMENTS
          : isAbsent
          ? new Uint8Array(8)
          : "damage";
        for (const [reader, read] of Object.entries(READ_ELEMENTS)) {
          // Writing needs a header, which reading does not, and fills an absent chunk.
          if (reader.includes("set") && elements !== "damage") continue;
          const stored = await damaged(kind, suffix, change);
          assertEquals(await outcomeOf(read(stored)), elements, reader);
        }
      });
    }
  }
}

/** The bits that stand for all: of the low and the high bytes of an offset and of a length, and of a checksum. */
const INDEX_BITS = [0, 7, 40, 55, 63, 64, 71, 104, 127, 128, 191, 192, 255];

for (const [name, kind] of Object.entries(KINDS)) {
  const { layout } = await storedArray(kind);
  if (layout === undefined) continue;
  const hasChecksum = layout.indexHasChecksum;
  const bits = [...INDEX_BITS, ...hasChecksum ? [256, 263, 287] : []];
  for (const bit of bits) {
    // Without any checksum, a low bit makes another index that can be right.
    const isHigh = bit < 256 && bit % 64 >= 40;
    if (!hasChecksum && !kind.options?.codecs && !isHigh) continue;
    Deno.test(`a chunk ${name} is damaged if bit ${bit} of its index is flipped`, async () => {
      const stored = await storedArray(kind);
      const shard = (await stored.chunks.get([0]))!;
      const size = hasChecksum ? 36 : 32;
      const start = layout.indexLocation === "start" ? 0 : shard.length - size;
      shard[start + (bit >> 3)]! ^= 1 << (bit & 7);
      await stored.chunks.set([0], shard);
      for (const [reader, read] of Object.entries(READ_ELEMENTS)) {
        assertEquals(await outcomeOf(read(stored)), "damage", reader);
      }
      const read: ReadShardRange = (range) =>
        stored.chunks.getRange([0], range);
      if (!hasChecksum && !isHigh) return;
      const inner = [0, 1].map((c) =>
        outcomeOf(readInnerChunk(read, layout, [c], { key: KEY }))
      );
      assert((await Promise.all(inner)).includes("damage"));
    });
  }

  for (const [suffix, size] of kind.parts) {
    if (suffix === kind.header) continue;
    for (const [how, change] of Object.entries(CHANGES)) {
      if (how === "missing" && kind.parts.length === 1) continue;
      if (how.startsWith("longer") && size === undefined) continue;
      Deno.test(`assertShardIndex or reading refuses a chunk ${name} if ${KEY}${suffix} is ${how}`, async () => {
        const stored = await damaged(kind, suffix, change);
        const checked = async () => {
          const index = await readShardIndex(
            (range) => stored.chunks.getRange([0], range),
            layout,
            KEY,
          );
          const length = await stored.chunks.size([0]);
          assertShardIndex(index!, layout, length!, KEY);
        };
        assertEquals(await outcomeOf(checked()), "damage");
      });
    }
  }
}

for (const [name, kind] of Object.entries(KINDS)) {
  if (kind.transformers !== undefined) continue;
  const parts = new ConcatParts(
    kind.parts.map(([keySuffix, size]) => ({ keySuffix, size })),
  );
  const isVerified = kind.options?.codecs !== undefined &&
    kind.options.shardShape === undefined;
  const options = {
    crc32c: isVerified ? "verify" : "none",
    key: KEY,
    chunkSize: (await joinedParts(await storedArray(kind), kind)).length,
  } as const;
  const concat = ({ store }: Stored) =>
    readAll(concatStream(
      parts,
      async ({ keySuffix }) =>
        streamOf((await store.get(`${KEY}${keySuffix}` as StoreKey))!),
      options,
    ));
  const split = async (chunk: Uint8Array) =>
    await splitStream(
      streamOf(chunk),
      parts,
      () => new WritableStream(),
      options,
    );

  for (const [suffix] of kind.parts) {
    for (const [how, change] of Object.entries(CHANGES)) {
      if (how === "missing") continue;
      Deno.test(`concatStream and splitStream refuse a chunk ${name} if ${KEY}${suffix} is ${how}`, async () => {
        await concat(await storedArray(kind));
        const stored = await damaged(kind, suffix, change);
        assertEquals(await outcomeOf(concat(stored)), "damage");
        const chunk = await joinedParts(stored, kind);
        assertEquals(await outcomeOf(split(chunk)), "damage");
      });
    }
  }

  if (!isVerified) continue;
  Deno.test(`each flipped bit of a chunk ${name} is damage`, async () => {
    const chunk = await joinedParts(await storedArray(kind), kind);
    await split(chunk);
    for (let bit = 0; bit < 8 * chunk.length; bit++) {
      const flipped = chunk.slice();
      flipped[bit >> 3]! ^= 1 << (bit & 7);
      assertEquals(await outcomeOf(split(flipped)), "damage", String(bit));
      const stored = await storedArray(kind);
      await stored.chunks.set([0], flipped);
      assertEquals(await outcomeOf(concat(stored)), "damage", String(bit));
      const reading = READ_ELEMENTS["zarr.get"]!(stored);
      assertEquals(await outcomeOf(reading), "damage", String(bit));
    }
  });
}
