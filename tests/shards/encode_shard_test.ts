import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { encodeShard } from "../../mod.ts";
import { countingBytes } from "../support/bytes.ts";
import { runs } from "../support/runs.ts";
import { layoutsOf, shardInputs } from "./arbitraries.ts";
import { slowShard } from "./slow_shard.ts";

Deno.test("encodeShard agrees with a shard built byte by byte", () => {
  fc.assert(
    fc.property(shardInputs, ({ layout, chunks, options }) => {
      assertEquals(
        encodeShard(chunks, layout, options),
        slowShard(chunks, layout, options).bytes,
      );
    }),
    { numRuns: runs(500) },
  );
});

const CHUNK = new Uint8Array([7]);
const CHUNKS = [CHUNK, undefined, CHUNK];

Deno.test("encodeShard rejects a prefix, from one byte on, where the index is at the start", () => {
  for (const layout of layoutsOf(3)) {
    const encode = (length: number) =>
      encodeShard(CHUNKS, layout, { prefix: countingBytes(length) });
    assertEquals(encode(0), encodeShard(CHUNKS, layout));
    if (layout.indexLocation === "end") {
      assertEquals(encode(1).length, encode(0).length + 1);
      continue;
    }
    for (const length of [1, 64]) {
      assertThrows(
        () => encode(length),
        RangeError,
        `A prefix of ${length} bytes would come before the index, which this shard has at its start`,
      );
    }
  }
});

Deno.test("encodeShard rejects a wrong number of inner chunks, values that are no bytes, and alignments that are no whole number from 1", () => {
  for (const layout of layoutsOf(3)) {
    for (const count of [0, 2, 4]) {
      assertThrows(
        () => encodeShard(Array(count).fill(CHUNK), layout),
        RangeError,
        `Expected 3 inner chunks, absent ones as undefined, found ${count}`,
      );
    }
    for (const alignment of [0, -1, -8, 0.5, 1.5, NaN, Infinity, 2 ** 53]) {
      assertThrows(
        () => encodeShard(CHUNKS, layout, { alignment }),
        RangeError,
        `Expected the option "alignment" to be a whole number of bytes from 1, found ${alignment}`,
      );
    }
    for (const value of [new Uint16Array([300]), [1], "1", null]) {
      const wrong = value as unknown as Uint8Array;
      assertThrows(
        () => encodeShard([wrong, undefined, CHUNK], layout),
        TypeError,
        "Expected the bytes of a shard as Uint8Array",
      );
      assertThrows(
        () => encodeShard(CHUNKS, layout, { prefix: wrong }),
        TypeError,
      );
    }
  }
});
