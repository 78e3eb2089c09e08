/** Damaged chunks that are split and joined as streams. */
import { assertEquals } from "@std/assert";
import {
  ConcatParts,
  concatStream,
  splitStream,
  type StoreKey,
} from "../../mod.ts";
import { readAll, streamOf } from "../stores/store_values.ts";
import {
  joinedParts,
  KEY,
  KINDS,
  type Stored,
  storedArray,
} from "./damaged_arrays.ts";
import { CHANGES, damaged, outcomeOf, READ_ELEMENTS } from "./reading.ts";

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
