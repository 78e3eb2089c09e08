/** Shards with a damaged index, or with inner chunks that it does not describe. */
import { assert, assertEquals } from "@std/assert";
import {
  assertShardIndex,
  readInnerChunk,
  readShardIndex,
  type ReadShardRange,
} from "../../mod.ts";
import { KEY, KINDS, storedArray } from "./damaged_arrays.ts";
import { CHANGES, damaged, outcomeOf, READ_ELEMENTS } from "./reading.ts";

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
